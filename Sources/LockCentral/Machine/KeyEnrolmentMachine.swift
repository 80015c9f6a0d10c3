import BluetoothCore
import BluetoothCrypto
import LockProtocol
import SecurityManager

/// The key's enrolment: takes a lock from its setup code to a bond that has proved itself.
///
/// - For: one operator at a time, who waits for one lock; and every lock whose bond has yet to be confirmed, also without
///   anybody who waits. A kill in the middle leaves either nothing or an unconfirmed bond, which the next process takes to
///   its confirmation.
/// - In: setup codes, what becomes of links, pairings, trees and answers, time. The ``Register`` comes with the event: this
///   machine remembers no bonds.
/// - Out: links to make and to end, promotions and deletions of bonds, the lock's record, progress.
/// - Owner: `KeyDaemon`, which carries out and decides nothing. In memory only.
///
/// A bond only ever goes because another one with the same lock has encrypted a link, or because the operator has paired
/// twice more since and nothing was confirmed (``BondBook/unprovenBondsOfPeerMaximum``). That a lock "does not know the
/// key" is said in clear, by whoever answers at its address; and a lock that has confirmed a bond may have lost its answer
/// on the way, and the bond before it has gone there.
///
/// docs/PROTOCOL.md, Enrolment
package struct KeyEnrolmentMachine: Equatable, Sendable {
    /// So many links in a row may be lost on a bond's way to its confirmation. Then the operator is told, and the key takes
    /// its time.
    package static let confirmationsLostMaximum = 3
    /// Between two of the attempts after that, unless somebody wants something of the lock.
    package static let confirmationPauseMilliseconds: UInt64 = 60_000

    /// What becomes of one lock. An operator waits `until`, for one lock at most.
    private enum Session: Equatable {
        /// The pairing's link is asked for. The data goes with the pairing that uses it.
        case connecting(OutOfBandData, wantsProgramKey: Bool, until: Instant)
        /// `hasLink`: this machine's, which the pairing leaves.
        case pairing(hasLink: Bool, until: Instant)
        /// Paired; the tree is being discovered and subscribed to on the pairing's link.
        case preparing(BondID, until: Instant)
        /// A bond has yet to prove itself on a link that is encrypted with it.
        case confirming(LockConfirmation)

        /// Until when an operator waits for this lock; nil: nobody does.
        var operatorWaitsUntil: Instant? {
            switch self {
            case .connecting(_, _, let until), .pairing(_, let until), .preparing(_, let until): until
            case .confirming(let confirmation): confirmation.enrolment?.until
            }
        }

        var linksLost: Int { if case .confirming(let confirmation) = self { confirmation.linksLost } else { 0 } }

        var deadline: Instant? {
            switch self {
            case .connecting, .pairing, .preparing: operatorWaitsUntil
            case .confirming(let confirmation): Instant.earliest(operatorWaitsUntil, confirmation.attempt.deadline)
            }
        }
    }

    private var sessions: [PeerIdentifier: Session] = [:]
    /// What the owner's timer is set to.
    private var told: Instant?

    package init() {}

    package mutating func handle(_ event: Event, now: Instant, into outputs: inout [Output]) {
        var acts: [Output] = []
        switch event {
        case .enrol(let peer, let data, let wantsProgramKey, let pairsWithoutLink, let wait, let register):
            // Who holds a code now is right: one that came before may be for a window that has long been closed.
            if let former = enrolling { end(former, .superseded, register, now, &acts) }
            let until = now.advanced(byMilliseconds: wait)
            // Not over a link that was made for something else, under the bond that is to be replaced.
            acts += [.release(peer), .progress(.connecting)]
            if pairsWithoutLink {
                pair(peer, data, wantsProgramKey: wantsProgramKey, hasLink: false, until: until, &acts)
            } else {
                sessions[peer] = .connecting(data, wantsProgramKey: wantsProgramKey, until: until)
                acts.append(.connect(peer))
            }
        case .cancelled(let register): if let peer = enrolling { end(peer, .superseded, register, now, &acts) }
        case .forgotten(let peer):
            // Who waits is told an end.
            guard peer != enrolling, sessions.removeValue(forKey: peer) != nil else { break }
            acts.append(.release(peer))
        case .poweredOn(let register): resume(register, &acts)
        case .connected(let peer): connected(peer, now, &acts)
        case .paired(let peer, let bond): paired(peer, bond, &acts)
        case .pairingFailed(let peer, let reason, let register): pairingFailed(peer, reason, register, now, &acts)
        case .encrypted(let peer, let isConfirmed, let register):
            encrypted(peer, isConfirmed: isConfirmed, register, now, &acts)
        case .encryptionFailed(let peer): encryptionFailed(peer, &acts)
        case .prepared(let peer, let isTreeKnown, let programKey):
            prepared(peer, isTreeKnown: isTreeKnown, programKey, now, &acts)
        case .unprepared(let peer, let register): unprepared(peer, register, now, &acts)
        case .answered(let peer, let octets, let proof, let register):
            answered(peer, octets, proof, register, now, &acts)
        case .disconnected(let peer, let isLost, let register):
            disconnected(peer, isLost: isLost, register, now, &acts)
        case .timerFired(let register):
            told = nil
            for peer in sessions.keys.sorted(by: { $0.bits < $1.bits }) { due(peer, register, now, &acts) }
        }
        tellDeadline(&outputs)
        outputs += acts
    }

    private mutating func tellDeadline(_ outputs: inout [Output]) {
        let earliest = sessions.values.compactMap(\.deadline).min()
        guard earliest != told else { return }
        told = earliest
        outputs.append(.deadline(earliest))
    }
}

// MARK: What it says of itself

extension KeyEnrolmentMachine {
    /// The lock for which an operator waits.
    package var enrolling: PeerIdentifier? { sessions.first { $0.value.operatorWaitsUntil != nil }?.key }

    /// Whether links to this lock are this machine's.
    package func holds(_ peer: PeerIdentifier) -> Bool { sessions[peer] != nil }

    /// Whether this lock's bond has yet to prove itself.
    package func isConfirming(_ peer: PeerIdentifier) -> Bool {
        switch sessions[peer] {
        case .preparing, .confirming: true
        case .connecting, .pairing, nil: false
        }
    }

    /// Locks whose bond waits without an operator, how many links in a row they have lost, and whether the next one takes
    /// its time.
    package func unattended(_ register: Register) -> [(peer: PeerIdentifier, linksLost: Int, isResting: Bool)] {
        sessions.sorted { $0.key.bits < $1.key.bits }.compactMap { peer, session in
            guard case .confirming(let confirmation) = session, confirmation.enrolment == nil else { return nil }
            return (peer, confirmation.linksLost, rests(peer, confirmation, register))
        }
    }

    private func rests(_ peer: PeerIdentifier, _ confirmation: LockConfirmation, _ register: Register) -> Bool {
        confirmation.linksLost == Self.confirmationsLostMaximum && !register.asked.contains(peer)
    }
}

// MARK: Begin and end

extension KeyEnrolmentMachine {
    private mutating func resume(_ register: Register, _ outputs: inout [Output]) {
        guard enrolling == nil else { return }
        for case let peer? in register.bonds.map(\.peer) where sessions[peer] == nil {
            sessions[peer] = .confirming(LockConfirmation(attempt: .connecting))
            outputs.append(.connect(peer))
        }
    }

    /// The operator, where one waits for this lock, is told once. What is paired goes on to its confirmation by itself.
    private mutating func end(
        _ peer: PeerIdentifier, _ failure: KeyEnrolmentFailure, _ register: Register, _ now: Instant,
        _ outputs: inout [Output]
    ) {
        let session = sessions.removeValue(forKey: peer)
        if session?.operatorWaitsUntil != nil { outputs.append(.progress(.failed(failure))) }
        outputs.append(.release(peer))
        guard !register.bonds(of: peer).isEmpty else { return }
        retry(
            peer, LockConfirmation(attempt: .connecting, linksLost: session?.linksLost ?? 0), register, now, &outputs)
    }

    /// At once; or, when that was in vain again and again and nobody is waiting, after a pause.
    private mutating func retry(
        _ peer: PeerIdentifier, _ confirmation: LockConfirmation, _ register: Register, _ now: Instant,
        _ outputs: inout [Output]
    ) {
        var next = confirmation
        if rests(peer, confirmation, register) {
            next.attempt = .resting(until: now.advanced(byMilliseconds: Self.confirmationPauseMilliseconds))
        } else {
            next.attempt = .connecting
            outputs.append(.connect(peer))
        }
        sessions[peer] = .confirming(next)
    }

    private mutating func due(
        _ peer: PeerIdentifier, _ register: Register, _ now: Instant, _ outputs: inout [Output]
    ) {
        guard let session = sessions[peer] else { return }
        if let until = session.operatorWaitsUntil, now >= until {
            return end(peer, .expired(isPaired: isConfirming(peer)), register, now, &outputs)
        }
        guard case .confirming(var confirmation) = session, let until = confirmation.attempt.deadline, now >= until
        else { return }
        switch confirmation.attempt {
        case .connecting, .leaving: return
        case .resting:
            confirmation.attempt = .connecting
            outputs.append(.connect(peer))
        // A peer that answers and then says nothing is soon left.
        case .encrypting:
            confirmation.attempt = .leaving(isRefused: true)
            outputs.append(.disconnect(peer))
        // Where the encryption is the proof, the lock itself is there. Whether it has confirmed the bond nobody knows: it is asked again on
        // the next link.
        case .preparing, .asked:
            confirmation.attempt = .leaving(isRefused: register.isForProgram(peer))
            outputs.append(.disconnect(peer))
        }
        sessions[peer] = .confirming(confirmation)
    }
}

// MARK: Each step

extension KeyEnrolmentMachine {
    private mutating func connected(_ peer: PeerIdentifier, _ now: Instant, _ outputs: inout [Output]) {
        switch sessions[peer] {
        case nil: outputs.append(.passOn)
        case .connecting(let data, let wantsProgramKey, let until):
            pair(peer, data, wantsProgramKey: wantsProgramKey, hasLink: true, until: until, &outputs)
        case .pairing, .preparing: break
        case .confirming(var confirmation):
            guard !confirmation.isAnswerAwaited else { return }
            let until = now.advanced(byMilliseconds: KeyMachine.encryptionWaitMilliseconds)
            confirmation.attempt = .encrypting(until: until)
            confirmation.hasAgreedAnew = false
            sessions[peer] = .confirming(confirmation)
            outputs.append(.encrypt(peer))
        }
    }

    private mutating func pair(
        _ peer: PeerIdentifier, _ data: OutOfBandData, wantsProgramKey: Bool, hasLink: Bool, until: Instant,
        _ outputs: inout [Output]
    ) {
        sessions[peer] = .pairing(hasLink: hasLink, until: until)
        outputs += [
            .progress(.pairing),
            .pair(
                peer, data, credential: "lock \(data.address)",
                programKey: wantsProgramKey ? .awaited(random: data.random) : .none),
        ]
    }

    private mutating func paired(_ peer: PeerIdentifier, _ bond: BondID, _ outputs: inout [Output]) {
        switch sessions[peer] {
        case .pairing(let hasLink, let until):
            outputs.append(.progress(.paired))
            if hasLink {
                sessions[peer] = .preparing(bond, until: until)
                outputs.append(.discover(peer))
            } else {
                let enrolment = LockConfirmation.Enrolment(bond: bond, until: until)
                sessions[peer] = .confirming(LockConfirmation(enrolment: enrolment, attempt: .connecting))
                outputs.append(.connect(peer))
            }
        case nil, .connecting, .preparing, .confirming: break
        }
    }

    private mutating func pairingFailed(
        _ peer: PeerIdentifier, _ reason: String, _ register: Register, _ now: Instant, _ outputs: inout [Output]
    ) {
        switch sessions[peer] {
        case .pairing: end(peer, .pairing(reason), register, now, &outputs)
        case nil, .connecting, .preparing, .confirming: break
        }
    }

    /// A bond that was confirmed long ago encrypts the link: the lock has none of the others, because it confirms a bond and
    /// forgets the one before at once.
    private mutating func encrypted(
        _ peer: PeerIdentifier, isConfirmed: Bool, _ register: Register, _ now: Instant, _ outputs: inout [Output]
    ) {
        switch sessions[peer] {
        case nil: outputs.append(.passOn)
        // While a pairing runs, its own end says so.
        case .connecting, .pairing, .preparing: break
        case .confirming(let confirmation) where confirmation.isAnswerAwaited: break
        case .confirming(let confirmation) where isConfirmed:
            sessions[peer] = nil
            for bond in register.bonds(of: peer) { outputs.append(.deleteBond(bond.id)) }
            if confirmation.enrolment != nil {
                let reason = "it has kept the bond that it had, which goes on"
                outputs.append(.progress(.failed(.notConfirmed(reason))))
            }
            outputs.append(.release(peer))
        case .confirming(var confirmation):
            let until = now.advanced(byMilliseconds: KeyMachine.preparationWaitMilliseconds)
            confirmation.attempt = .preparing(until: until)
            sessions[peer] = .confirming(confirmation)
            outputs.append(.passOn)
        }
    }

    /// The link is of no use for a bond's confirmation. If its encryption was refused, the next one is another bond's turn,
    /// where there is one.
    private mutating func encryptionFailed(_ peer: PeerIdentifier, _ outputs: inout [Output]) {
        switch sessions[peer] {
        case nil, .connecting, .pairing: outputs.append(.passOn)
        case .preparing(let bond, let until): comeBack(peer, bond, until, &outputs)
        case .confirming(let confirmation): refuse(peer, confirmation, &outputs)
        }
    }

    private mutating func prepared(
        _ peer: PeerIdentifier, isTreeKnown: Bool, _ programKey: BondProgramKey, _ now: Instant,
        _ outputs: inout [Output]
    ) {
        switch sessions[peer] {
        case nil: outputs.append(.passOn)
        case .connecting, .pairing: break
        case .preparing(let bond, let until): comeBack(peer, bond, until, &outputs)
        case .confirming(var confirmation):
            guard isTreeKnown, !confirmation.isAnswerAwaited else { return }
            // A program's key is its own proof: until then whoever has the link may be nobody.
            if programKey == .none { confirmation.linksLost = 0 }
            let question: Output =
                switch programKey {
                case .none: .askKeyStatus(peer)
                case .awaited, .unreadable: .agreeOnKey(peer)
                // The lock may have taken it already, its answer lost.
                case .agreed, .confirmed: .confirmKey(peer)
                }
            ask(peer, question, &confirmation, now, &outputs)
        }
    }

    private mutating func ask(
        _ peer: PeerIdentifier, _ question: Output, _ confirmation: inout LockConfirmation, _ now: Instant,
        _ outputs: inout [Output]
    ) {
        confirmation.attempt = .asked(until: now.advanced(byMilliseconds: KeyMachine.statusWaitMilliseconds))
        sessions[peer] = .confirming(confirmation)
        outputs.append(question)
    }

    private mutating func unprepared(
        _ peer: PeerIdentifier, _ register: Register, _ now: Instant, _ outputs: inout [Output]
    ) {
        switch sessions[peer] {
        case nil: outputs.append(.passOn)
        case .connecting, .pairing, .preparing: end(peer, .notALock, register, now, &outputs)
        case .confirming(let confirmation) where confirmation.enrolment != nil:
            end(peer, .notALock, register, now, &outputs)
        case .confirming(let confirmation): refuse(peer, confirmation, &outputs)
        }
    }

    /// The pairing's link is let go and made anew: the bond proves itself on the next one.
    private mutating func comeBack(
        _ peer: PeerIdentifier, _ bond: BondID, _ until: Instant, _ outputs: inout [Output]
    ) {
        let enrolment = LockConfirmation.Enrolment(bond: bond, until: until)
        sessions[peer] = .confirming(LockConfirmation(enrolment: enrolment, attempt: .leaving(isRefused: false)))
        outputs.append(.disconnect(peer))
    }

    private mutating func refuse(
        _ peer: PeerIdentifier, _ confirmation: LockConfirmation, _ outputs: inout [Output]
    ) {
        var refused = confirmation
        refused.attempt = .leaving(isRefused: true)
        sessions[peer] = .confirming(refused)
        outputs.append(.disconnect(peer))
    }

    /// The answer to what confirms a bond. Whatever Key Status says, it came over the bond's own encryption, and the lock confirms a bond
    /// before it answers: what the credential may is another question. A bond with a program's key is confirmed by that key alone.
    private mutating func answered(
        _ peer: PeerIdentifier, _ octets: [UInt8], _ proof: Proof?, _ register: Register, _ now: Instant,
        _ outputs: inout [Output]
    ) {
        switch sessions[peer] {
        case nil, .connecting, .pairing, .preparing: outputs.append(.passOn)
        case .confirming(let confirmation) where confirmation.enrolment != nil && !confirmation.isAnswerAwaited:
            outputs.append(.passOn)
        case .confirming(var confirmation):
            guard let response = try? ControlPointResponse(exactly: octets), let proof,
                register.bonds.contains(where: { $0.id == proof.bond })
            else { return }
            switch (response.request, proof.programKey) {
            case (.keyStatus, .none): confirmed(peer, proof, confirmation, &outputs)
            case (.agreeOnKey, .awaited(let random)), (.agreeOnKey, .agreed(let random, _)):
                guard response.result == .success, let key = proof.offer?.key(ofAnswer: response.parameters) else {
                    return agreementRefused(peer, confirmation, register, now, &outputs)
                }
                outputs.append(.keepProgramKey(proof.bond, .agreed(random: random, key)))
                ask(peer, .confirmKey(peer), &confirmation, now, &outputs)
            case (.confirmKey, .agreed(_, let key)) where response.result == .success:
                // Anybody who shares the link, or is at its other end, can say so: the lock shows that it has the key.
                guard key.isAccepted(by: response.parameters) else { return }
                outputs.append(.keepProgramKey(proof.bond, .confirmed(key)))
                confirmed(peer, proof, confirmation, &outputs)
            // The lock has the key of another agreement: its answer was lost. Each agreement is a commit: one on a link will do.
            case (.confirmKey, .agreed) where !confirmation.hasAgreedAnew:
                confirmation.hasAgreedAnew = true
                ask(peer, .agreeOnKey(peer), &confirmation, now, &outputs)
            case (.confirmKey, .agreed): refuse(peer, confirmation, &outputs)
            default: return
            }
        }
    }

    /// The lock has no r any more, or r does not stand behind what was answered.
    private mutating func agreementRefused(
        _ peer: PeerIdentifier, _ confirmation: LockConfirmation, _ register: Register, _ now: Instant,
        _ outputs: inout [Output]
    ) {
        var refused = confirmation
        refused.linkLost()
        sessions[peer] = .confirming(refused)
        let reason = "it does not agree on a key for this program: open a new window there"
        end(peer, .notConfirmed(reason), giveUpUnverified(peer, register, &outputs), now, &outputs)
    }

    /// Whoever has shown nothing of r keeps no bond that was made without anybody's seeing how. What is left then.
    private func giveUpUnverified(
        _ peer: PeerIdentifier, _ register: Register, _ outputs: inout [Output]
    ) -> Register {
        let bonds = register.unverified(peer)
        outputs += bonds.map { .deleteBond($0) }
        return register.without(bonds)
    }

    private mutating func confirmed(
        _ peer: PeerIdentifier, _ proof: Proof, _ confirmation: LockConfirmation, _ outputs: inout [Output]
    ) {
        sessions[peer] = nil
        let name = proof.record.name
        outputs += [.promoteBond(proof.bond), .keep(proof.record), .bonded(peer), .enrolled(peer, name: name)]
        if let enrolment = confirmation.enrolment {
            // The lock may have confirmed an earlier pairing, its answer lost, and not have come to the end of this one.
            outputs.append(
                .progress(
                    enrolment.bond == proof.bond
                        ? .enrolled(peer, name: name)
                        : .failed(.notConfirmed("it has kept an earlier bond, which goes on"))))
        }
        outputs.append(.release(peer))
    }

    private mutating func disconnected(
        _ peer: PeerIdentifier, isLost: Bool, _ register: Register, _ now: Instant, _ outputs: inout [Output]
    ) {
        switch sessions[peer] {
        case nil: outputs.append(.passOn)
        case .connecting, .pairing:
            end(peer, .linkLost, register, now, &outputs)
            // What else is wanted of the lock goes on.
            if !holds(peer) { outputs.append(.passOn) }
        case .preparing(let bond, let until):
            let enrolment = LockConfirmation.Enrolment(bond: bond, until: until)
            retry(peer, LockConfirmation(enrolment: enrolment, attempt: .connecting), register, now, &outputs)
        case .confirming(var confirmation):
            guard isLost || confirmation.attempt == .leaving(isRefused: true) else {
                return retry(peer, confirmation, register, now, &outputs)
            }
            // A lock that was killed before it kept the new bond has another key, and a stranger has none: nobody is told
            // which.
            confirmation.linkLost()
            let isUnverified = !register.unverified(peer).isEmpty
            guard confirmation.linksLost == Self.confirmationsLostMaximum,
                confirmation.enrolment != nil || isUnverified
            else { return retry(peer, confirmation, register, now, &outputs) }
            sessions[peer] = .confirming(confirmation)
            let reason =
                "it has confirmed the new bond on none of three links; "
                + (isUnverified ? "the bond is given up: open a new window there" : "the key goes on trying")
            end(peer, .notConfirmed(reason), giveUpUnverified(peer, register, &outputs), now, &outputs)
            if !holds(peer) { outputs.append(.passOn) }
        }
    }
}
