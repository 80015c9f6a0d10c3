import BluetoothCore
import BluetoothCrypto
import LockProtocol
import SecurityManager

/// What becomes of an enrolment window. Exactly one `ended` comes last.
package enum EnrolmentProgress: Equatable, Sendable {
    /// With the code to show, if the method has one: it opens the door once it is used.
    case opened(SetupCode?)
    /// Six digits to show to whoever holds the other side.
    case passkey(UInt32)
    case attemptFailed(String)
    /// The keys are exchanged; the new bond has yet to prove itself in a reconnection.
    case paired(BondID)
    case ended(EnrolmentEnd)
}

/// How a window closed.
package enum EnrolmentEnd: Equatable, Sendable {
    case enrolled(BondID)
    /// Nobody came, or nobody came back.
    case expired
    /// The code was used, and in vain.
    case burnt
    case tooManyFailures
    case cancelled

    /// As the audit has it.
    var recorded: WindowEnd {
        switch self {
        case .enrolled: .enrolled
        case .expired: .expired
        case .burnt: .burnt
        case .tooManyFailures: .tooManyFailures
        case .cancelled: .cancelled
        }
    }
}

/// Why a window is not opened.
package enum EnrolmentRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    case windowIsOpen(credential: String)
    case notPoweredOn
    case badName
    case badUser
    /// The credential is a device of another user than the one that was named.
    case otherUser(credential: String, user: String)
    /// A user's devices have one kind in common: a further device does not change it.
    case otherKind(user: String)
    case tooManyDevices(user: String)
    /// The disk failed while it was read: who has a credential is not known. The program ends.
    case stateUnreadable

    package var description: String {
        switch self {
        case .windowIsOpen(let credential): "the window is open for \(credential) already: wait until it has closed"
        case .stateUnreadable: RevocationRefusal.stateUnreadable.description
        case .notPoweredOn: "the radio is not on yet: nobody could enrol"
        case .badUser: "a user's name has 1 to \(CredentialRecord.nameOctetsMaximum) octets"
        case .otherUser(let credential, let user):
            "\(credential) is a device of \(user): give the new device another name, or remove that one first"
        case .otherKind(let user):
            "\(user) has devices of another kind: enrol without a kind, or remove these devices first"
        case .tooManyDevices(let user):
            "\(user) has \(LockEnrolment.devicesMaximum) devices, and no user has more: remove one of them first"
        case .badName: "a credential's name has 1 to \(CredentialRecord.nameOctetsMaximum) octets"
        }
    }
}

extension LockEnrolment {
    /// What the lock says by which a stranger may pair. Made for one window and kept nowhere.
    package enum Offer: Equatable, Sendable {
        /// A fresh passkey for each attempt.
        case passkey
        /// `code` is what the operator shows: it commits to the key pair and contains `random`.
        case outOfBand(keyPair: P256KeyPair, random: Secret, code: SetupCode?)

        package static func == (a: Self, b: Self) -> Bool {
            switch (a, b) {
            case (.passkey, .passkey): true
            case (.outOfBand(let key, let random, let code), .outOfBand(let otherKey, let otherRandom, let otherCode)):
                key.publicKey == otherKey.publicKey && random == otherRandom && code == otherCode
            case (.passkey, .outOfBand), (.outOfBand, .passkey): false
            }
        }
    }

    /// What an operator, or a manager, opens a window with.
    package struct Opening: Equatable, Sendable {
        package var credential: String
        package var role: Role
        package var seconds: UInt64
        package var offer: Offer
        /// Never used before: the credential's, unless one of this name waits for a bond already.
        package var fresh: CredentialID
        /// Whose device it becomes. nil: a credential that stands keeps its user, and a new one is its own user's.
        package var user: String?
        /// nil: as the user's other devices are.
        package var kind: UserKind?
        /// Who opens it over the air; nil: an operator at the machine.
        package var manager: AuditedManager?

        package init(
            credential: String, role: Role, seconds: UInt64, offer: Offer, fresh: CredentialID, user: String? = nil,
            kind: UserKind? = nil, manager: AuditedManager? = nil
        ) {
            self.credential = credential
            self.role = role
            self.seconds = seconds
            self.offer = offer
            self.fresh = fresh
            self.user = user
            self.kind = kind
            self.manager = manager
        }
    }

    /// What enrolment has to know of a bond.
    package struct KnownBond: Equatable, Sendable {
        package var id: BondID
        /// Whom the window was open for in which it was made.
        package var credential: String?
        package var state: BondState
        package var programKey: BondProgramKey

        package init(id: BondID, credential: String?, state: BondState, programKey: BondProgramKey = .none) {
            self.id = id
            self.credential = credential
            self.state = state
            self.programKey = programKey
        }
    }

    /// What the lock needs to agree on a program's key: who it is, and a key pair that was made for this one request.
    package struct Agreement: Equatable, Sendable {
        package var lock: IdentityAddress
        package var keyPair: P256KeyPair

        package init(lock: IdentityAddress, keyPair: P256KeyPair) {
            self.lock = lock
            self.keyPair = keyPair
        }

        package static func == (a: Self, b: Self) -> Bool {
            a.lock == b.lock && a.keyPair.publicKey == b.keyPair.publicKey
        }
    }

    /// The lock machine's credentials and the host's bonds at the moment of an event: all of them, but for a request on a confirmed
    /// bond's link, which is about that bond alone.
    package struct Register: Equatable, Sendable {
        /// By id, so that one history has one list of outputs.
        package let credentials: [Credential]
        package let bonds: [KnownBond]

        package init(credentials: some Sequence<Credential>, bonds: [KnownBond]) {
            self.credentials = credentials.sorted { $0.id.rawValue < $1.id.rawValue }
            self.bonds = bonds
        }

        func credentials(named name: String?) -> [Credential] { credentials.filter { $0.name == name } }
        func credentials(ofUser user: String) -> [Credential] { credentials.filter { $0.userName == user } }
        func bond(_ id: BondID) -> KnownBond? { bonds.first { $0.id == id } }

        /// Bonds that were made for this credential and have yet to prove themselves.
        func unconfirmed(for name: String?) -> [KnownBond] {
            bonds.filter { $0.state == .unconfirmed && $0.credential == name }
        }
    }

    package enum Event: Equatable, Sendable {
        /// An operator, or a manager, asks for a window. `isReady`: the radio is on, and the lock machine has begun.
        case open(Opening, isReady: Bool, Register)
        /// The operator lets go of the window.
        case cancelled(Register)
        /// The operator has removed everything of this name.
        case credentialRemoved(String, Register)
        /// A bond that was made for this credential and has not proved itself is deleted.
        case bondGone(BondID, credential: String?, Register)
        /// An attempt has begun, and shows this.
        case passkey(UInt32)
        case paired(LockLink, BondID)
        case attemptFailed(reason: String, endsWindow: Bool, Register)
        /// A write to the control point, on a link that is encrypted with this bond. `Agreement`: where it asks for one.
        case controlPoint(LockLink, BondID, [UInt8], Register, Agreement? = nil)
        case disconnected(LockLink)
        case timerFired(Register)
    }

    /// To be carried out in this order, in the iteration of their event.
    package enum Output: Equatable, Sendable {
        /// The only one: no window is opened.
        case refuse(EnrolmentRefusal)
        /// For ``LockMachine``.
        case administration(LockAdministration)
        /// The bond of whoever pairs has `programKey` from its first moment on.
        case setPairingWindow(Offer, credential: String, programKey: BondProgramKey)
        case closePairingWindow
        /// The bond is confirmed, and what it renews is gone.
        case promoteBond(BondID)
        /// Unless a promotion has deleted it.
        case deleteBond(BondID)
        /// When ``Event/timerFired(_:)`` is due; nil: not at all.
        case deadline(Instant?)
        /// For the window's operator.
        case progress(EnrolmentProgress)
        /// For those who watch the lock.
        case enrolled(credential: String, BondID)
        /// In the place of what is kept of this bond's program.
        case keepProgramKey(BondID, BondProgramKey)
        /// The last one: the control point answers this request. Without it, and without ``answer(_:)``, the request is refused.
        case admit
        /// The last one: this is the answer.
        case answer(ControlPointResponse)
    }
}
