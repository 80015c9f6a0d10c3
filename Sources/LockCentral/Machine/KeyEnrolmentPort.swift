import BluetoothCore
import LockProtocol
import SecurityManager

/// What becomes of an enrolment. Exactly one of `enrolled` and `failed` comes last.
package enum KeyEnrolmentProgress: Equatable, Sendable {
    case connecting
    case pairing
    /// The keys are exchanged; the bond has yet to prove itself in a reconnection.
    case paired
    case enrolled(PeerIdentifier, name: String)
    case failed(KeyEnrolmentFailure)
}

/// Why an enrolment did not come to its end.
package enum KeyEnrolmentFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// Another setup code has come since.
    case superseded
    case notPoweredOn
    /// Other programs share this key's host: the code has to be one for a program with a key of its own.
    case needsProgramCode
    /// Nothing was heard of the lock, or not to the end. A bond that was made by then is confirmed when it comes back.
    case expired(isPaired: Bool)
    case pairing(String)
    case linkLost
    case notALock
    /// The lock does not know the bond, or the credential has been taken back.
    case notConfirmed(String)

    package var description: String {
        switch self {
        case .superseded: "another enrolment has taken this one's place"
        case .notPoweredOn: "the radio is not on yet: nothing can be enrolled"
        case .needsProgramCode:
            "beside bluetoothd a key is one program among others: open the lock's window with --method program, for a "
                + "code that begins with LATCH2"
        case .expired(false): "the lock was not heard in time: go nearer, and open a new window at the lock"
        case .expired(true): "paired, but the lock has not come back to confirm it: the key goes on trying"
        case .pairing(let reason):
            "the pairing failed (\(reason)): compare the code with the lock's and try again, or open a new window there"
        case .linkLost: "the link was lost: go nearer and try again, or open a new window at the lock"
        case .notALock: "what answered has no Lock service"
        case .notConfirmed(let reason): "the lock did not confirm the enrolment: \(reason)"
        }
    }
}

extension KeyEnrolmentMachine {
    /// What enrolment has to know of a bond that was never confirmed.
    package struct UnconfirmedBond: Equatable, Sendable {
        package var id: BondID
        /// Whose it is; nil without an identity.
        package var peer: PeerIdentifier?
        /// A program's key, and not the bond's encryption, is what confirms it.
        package var isForProgram: Bool
        /// Others share the host, which has paired by a method that nobody has seen; and nobody has shown to know r since.
        package var isUnverified: Bool

        package init(id: BondID, peer: PeerIdentifier?, isForProgram: Bool = false, isUnverified: Bool = false) {
            self.id = id
            self.peer = peer
            self.isForProgram = isForProgram
            self.isUnverified = isUnverified
        }
    }

    /// The host's unconfirmed bonds, and of which locks somebody wants something, at the moment of an event.
    package struct Register: Equatable, Sendable {
        package let bonds: [UnconfirmedBond]
        package let asked: Set<PeerIdentifier>

        package init(bonds: [UnconfirmedBond], asked: Set<PeerIdentifier>) {
            self.bonds = bonds
            self.asked = asked
        }

        func bonds(of peer: PeerIdentifier) -> [UnconfirmedBond] { bonds.filter { $0.peer == peer } }

        func isForProgram(_ peer: PeerIdentifier) -> Bool { bonds(of: peer).contains(where: \.isForProgram) }

        func unverified(_ peer: PeerIdentifier) -> [BondID] { bonds(of: peer).filter(\.isUnverified).map(\.id) }

        func without(_ gone: [BondID]) -> Self { Self(bonds: bonds.filter { !gone.contains($0.id) }, asked: asked) }
    }

    /// Over what an answer has come: the bond that encrypts its link, and the lock as it would be kept.
    package struct Proof: Equatable, Sendable {
        package var bond: BondID
        package var record: LockRecord
        /// What was offered to the lock on this link.
        package var offer: ProgramKeyOffer?
        package var programKey: BondProgramKey

        package init(
            bond: BondID, record: LockRecord, offer: ProgramKeyOffer? = nil, programKey: BondProgramKey = .none
        ) {
            self.bond = bond
            self.record = record
            self.offer = offer
            self.programKey = programKey
        }
    }

    package enum Event: Equatable, Sendable {
        /// The operator holds a setup code for this lock. `wantsProgramKey`: of a window for a program with a key of its own.
        /// `pairsWithoutLink`: the host finds the lock and makes the pairing's link by itself, and has ended that when it has paired.
        case enrol(
            PeerIdentifier, OutOfBandData, wantsProgramKey: Bool = false, pairsWithoutLink: Bool = false,
            waitMilliseconds: UInt64, Register)
        /// Nobody waits for the enrolment any more.
        case cancelled(Register)
        /// The operator wants nothing of this lock any more. Nothing, where one waits for its enrolment.
        case forgotten(PeerIdentifier)
        /// The radio is on: what an earlier process paired and could not confirm goes on.
        case poweredOn(Register)
        case connected(PeerIdentifier)
        case paired(PeerIdentifier, BondID)
        case pairingFailed(PeerIdentifier, reason: String, Register)
        /// The link is encrypted with this bond's key. `isConfirmed`: it was confirmed before.
        case encrypted(PeerIdentifier, isConfirmed: Bool, Register)
        /// It is not. Whoever answers at the lock's address says so, in clear.
        case encryptionFailed(PeerIdentifier)
        /// The subscriptions are made. `isTreeKnown`: the control point is where it was. The last: of the link's bond.
        case prepared(PeerIdentifier, isTreeKnown: Bool, BondProgramKey = .none)
        /// What is there has no tree of a lock, or takes no subscription.
        case unprepared(PeerIdentifier, Register)
        /// An indication of the control point; nil: the link is not encrypted with a bond.
        case answered(PeerIdentifier, [UInt8], Proof?, Register)
        /// The link, or the wish for one, has ended. `isLost`: not by this side.
        case disconnected(PeerIdentifier, isLost: Bool, Register)
        case timerFired(Register)
    }

    /// To be carried out in this order, in the iteration of their event.
    package enum Output: Equatable, Sendable {
        /// The first one. When ``Event/timerFired(_:)`` is due; nil: not at all.
        case deadline(Instant?)
        /// A pending connection; asking twice is asking once.
        case connect(PeerIdentifier)
        /// The end comes back as ``Event/disconnected(_:isLost:_:)``.
        case disconnect(PeerIdentifier)
        /// The same for a link that is not this machine's any more, or not yet: its end is for ``KeyMachine`` alone.
        case release(PeerIdentifier)
        /// A bond with this credential is only ever replaced by another one with it. It has `programKey` from its first moment on.
        case pair(PeerIdentifier, OutOfBandData, credential: String, programKey: BondProgramKey)
        /// The tree anew, whatever was known of it, and then every subscription.
        case discover(PeerIdentifier)
        case encrypt(PeerIdentifier)
        case askKeyStatus(PeerIdentifier)
        /// An offer, by the r that the link's bond keeps.
        case agreeOnKey(PeerIdentifier)
        /// The key that the link's bond keeps.
        case confirmKey(PeerIdentifier)
        /// In the place of what is kept of this bond's program.
        case keepProgramKey(BondID, BondProgramKey)
        /// The bond is confirmed, and the lock's others are gone.
        case promoteBond(BondID)
        case deleteBond(BondID)
        /// For ``KeyMachine``: the lock is known from now on.
        case keep(LockRecord)
        /// For ``KeyMachine``: the lock's counters begin anew.
        case bonded(PeerIdentifier)
        /// For those who watch the key.
        case enrolled(PeerIdentifier, name: String)
        /// For the operator.
        case progress(KeyEnrolmentProgress)
        /// The last one: the event is ``KeyMachine``'s. Without it that machine does not hear of it.
        case passOn
    }
}
