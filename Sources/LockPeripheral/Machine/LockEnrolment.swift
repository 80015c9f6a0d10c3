import BluetoothCore
import BluetoothCrypto
import LockProtocol
import SecurityManager

/// The lock's enrolment: decides who gets in.
///
/// - For: one window at a time, in which one named credential may enrol, one attempt at a time; and for the bond that came
///   of a window, this one or an earlier one, to take its credential over once it has proved itself.
/// - In: what the operator asks, what becomes of pairings, writes to the control point, time. Key pairs, random octets and
///   a fresh credential id come with the event, and so does the ``Register``: this machine remembers neither credentials
///   nor bonds.
/// - Out: changes for ``LockMachine``, the host's pairing window, promotions and deletions of bonds, progress.
/// - Owner: `LockDaemon`, which carries out and decides nothing. In memory only: a window dies with the process, and its
///   code with it.
///
/// docs/PROTOCOL.md, Enrolment
package struct LockEnrolment: Equatable, Sendable {
    private enum State: Equatable {
        case closed
        case open(Window)
        /// Nobody else pairs in this window; `bond` has yet to prove itself.
        case paired(Window, bond: BondID)
    }

    private struct Window: Equatable {
        let credential: String
        let role: Role
        let end: Instant
        /// Whether it was opened with a code, which is burnt by a try in vain.
        let hasCode: Bool
        /// The manager who has opened it over the air.
        let opener: CredentialID?
    }

    private var state = State.closed
    /// Links on which a pairing has completed, in whichever window: what they prove, they prove by the pairing and not by a
    /// reconnection.
    private var pairedLinks: Set<LockLink> = []

    package init() {}

    /// Of one user, each with a credential of its own.
    package static let devicesMaximum = 10

    /// Whom the window is open for.
    package var credential: String? {
        switch state {
        case .closed: nil
        case .open(let window), .paired(let window, _): window.credential
        }
    }

    /// What the window offers, and whether somebody has paired in it.
    package var offer: (role: Role, isPaired: Bool)? {
        switch state {
        case .closed: nil
        case .open(let window): (window.role, false)
        case .paired(let window, _): (window.role, true)
        }
    }

    /// The manager who has opened the window over the air; nil where nobody has.
    package var opener: CredentialID? {
        switch state {
        case .closed: nil
        case .open(let window), .paired(let window, _): window.opener
        }
    }

    package mutating func handle(_ event: Event, now: Instant, into outputs: inout [Output]) {
        switch (state, event) {
        case (.closed, .open(let opening, let isReady, let register)):
            open(opening, isReady, register, now, &outputs)
        case (.open(let window), .open), (.paired(let window, _), .open):
            outputs.append(.refuse(.windowIsOpen(credential: window.credential)))

        case (.closed, .cancelled), (.closed, .credentialRemoved), (.closed, .timerFired): break
        case (.open(let window), .cancelled(let register)), (.paired(let window, _), .cancelled(let register)):
            close(window, .cancelled, register, &outputs)
        case (.open(let window), .credentialRemoved(let name, let register)),
            (.paired(let window, _), .credentialRemoved(let name, let register)):
            if name == window.credential { close(window, .cancelled, register, &outputs) }
        case (.closed, .bondGone(_, let name, let register)): withdrawOffer(to: name, register, &outputs)
        case (.paired(let window, let paired), .bondGone(let gone, _, let register)) where gone == paired:
            close(window, .cancelled, register, &outputs)
        case (.open(let window), .bondGone(_, let name, let register)),
            (.paired(let window, _), .bondGone(_, let name, let register)):
            if name != window.credential { withdrawOffer(to: name, register, &outputs) }
        case (.open(let window), .timerFired(let register)), (.paired(let window, _), .timerFired(let register)):
            if now >= window.end { close(window, .expired, register, &outputs) }

        case (.closed, .passkey): break
        case (.open, .passkey(let passkey)), (.paired, .passkey(let passkey)):
            outputs.append(.progress(.passkey(passkey)))

        case (.closed, .paired(let link, _)):
            pairedLinks.insert(link)
            outputs.append(.closePairingWindow)
        case (.open(let window), .paired(let link, let bond)), (.paired(let window, _), .paired(let link, let bond)):
            pairedLinks.insert(link)
            state = .paired(window, bond: bond)
            // One window, one enrolment: nobody else gets in through what is left of it.
            outputs += [.progress(.paired(bond)), .closePairingWindow]

        case (.closed, .attemptFailed), (.paired, .attemptFailed): break
        case (.open(let window), .attemptFailed(let reason, let endsWindow, let register)):
            outputs.append(.progress(.attemptFailed(reason)))
            if endsWindow { close(window, window.hasCode ? .burnt : .tooManyFailures, register, &outputs) }

        case (.closed, .controlPoint(let link, let id, let octets, let register, let agreement)),
            (.open, .controlPoint(let link, let id, let octets, let register, let agreement)):
            answer(id, on: link, octets, register, agreement, paired: nil, &outputs)
        case (.paired(let window, let bond), .controlPoint(let link, let id, let octets, let register, let agreement)):
            answer(id, on: link, octets, register, agreement, paired: (window, bond), &outputs)

        case (.closed, .disconnected(let link)), (.open, .disconnected(let link)), (.paired, .disconnected(let link)):
            pairedLinks.remove(link)
        }
    }
}

// MARK: The window

extension LockEnrolment {
    /// What the window offers is kept before anybody can pair for it, as a credential without a bond. A credential of that
    /// name that has a bond stays as it is until another bond has proved itself: opening a window gives nobody a right, and
    /// takes none away.
    private mutating func open(
        _ opening: Opening, _ isReady: Bool, _ register: Register, _ now: Instant, _ outputs: inout [Output]
    ) {
        let name = opening.credential
        guard isReady else { return outputs.append(.refuse(.notPoweredOn)) }
        guard !name.isEmpty, name.utf8.count <= CredentialRecord.nameOctetsMaximum else {
            return outputs.append(.refuse(.badName))
        }
        let offered: Credential
        switch Self.offer(opening, register) {
        case .success(let credential): offered = credential
        case .failure(let refusal): return outputs.append(.refuse(refusal))
        }
        let (hasCode, code, programKey): (Bool, SetupCode?, BondProgramKey) =
            switch opening.offer {
            case .passkey: (false, nil, .none)
            case .outOfBand(_, let random, let code):
                (true, code, code?.wantsProgramKey == true ? .awaited(random: random) : .none)
            }
        let (milliseconds, overflow) = opening.seconds.multipliedReportingOverflow(by: 1_000)
        let end = now.advanced(byMilliseconds: overflow ? .max : milliseconds)
        deleteParked(name, unlessOffered: offered, register, &outputs)
        state = .open(
            Window(
                credential: name, role: opening.role, end: end, hasCode: hasCode, opener: opening.manager?.credential))
        outputs += [
            .administration(.credential(offered)),
            .administration(.windowOpened(name: name, opening.role, by: opening.manager)), .deadline(end),
            .setPairingWindow(opening.offer, credential: name, programKey: programKey),
            .progress(.opened(code)),
        ]
    }

    /// A bond takes what is offered when it proves itself. One that waits since an earlier window was let in for what that one offered: it does not
    /// wait for more, nor for what somebody else is offered.
    private func deleteParked(
        _ name: String, unlessOffered offered: Credential, _ register: Register, _ outputs: inout [Output]
    ) {
        let named = register.credentials(named: name)
        let awaited = named.first { $0.bond == nil } ?? named.first
        guard
            awaited.map({
                $0.role != offered.role || $0.kind != offered.kind || $0.isEnabled != offered.isEnabled
            }) ?? true
        else { return }
        for bond in register.unconfirmed(for: name) { outputs.append(.deleteBond(bond.id)) }
    }

    /// What the window offers. A further device of a user has the user's kind and rules from the beginning.
    private static func offer(_ opening: Opening, _ register: Register) -> Result<Credential, EnrolmentRefusal> {
        let named = register.credentials(named: opening.credential)
        let standing = named.first { $0.bond != nil } ?? named.first
        let user = opening.user ?? standing?.userName ?? opening.credential
        guard 1...CredentialRecord.nameOctetsMaximum ~= user.utf8.count else { return .failure(.badUser) }
        if let standing, standing.userName != user {
            return .failure(.otherUser(credential: standing.name, user: standing.userName))
        }
        let others = register.credentials(ofUser: user).filter { $0.name != opening.credential }
        if let kind = opening.kind, others.contains(where: { $0.kind != kind }) {
            return .failure(.otherKind(user: user))
        }
        guard Set(others.map(\.name)).count < devicesMaximum else { return .failure(.tooManyDevices(user: user)) }
        var offered =
            named.first { $0.bond == nil }
            ?? Credential(id: opening.fresh, name: opening.credential, role: opening.role)
        if standing == nil, let other = others.first {
            (offered.validity, offered.schedules) = (other.validity, other.schedules)
        }
        offered.kind = opening.kind ?? standing?.kind ?? others.first?.kind ?? .ordinary
        offered.user = user == opening.credential ? nil : user
        offered.role = opening.role
        offered.isEnabled = true
        return .success(offered)
    }

    private mutating func close(
        _ window: Window, _ end: EnrolmentEnd, _ register: Register, _ outputs: inout [Output]
    ) {
        state = .closed
        outputs += [
            .administration(.windowClosed(name: window.credential, end.recorded, opener: window.opener)),
            .progress(.ended(end)),
            .deadline(nil), .closePairingWindow,
        ]
        withdrawOffer(to: window.credential, register, &outputs)
    }

    /// What nobody took up goes, unless the credential is nothing but that: its name and role are the operator's word. A
    /// bond that has yet to prove itself still has its role from it; one that has just done so has taken the offer, and is
    /// unconfirmed in the register yet.
    private func withdrawOffer(to name: String?, _ register: Register, _ outputs: inout [Output]) {
        let named = register.credentials(named: name)
        guard named.contains(where: { $0.bond != nil }), let offered = named.first(where: { $0.bond == nil }),
            register.unconfirmed(for: name).isEmpty
        else { return }
        outputs.append(.administration(.credentialRemoved(offered.id)))
    }
}

// MARK: The bond

extension LockEnrolment {
    /// Whether this bond may use the control point. One that is new is confirmed here, in a reconnection that was encrypted with it: by Key
    /// Status, or, where a program is to have a key, by the proof that it has it. Only now does the credential change hands, in one
    /// transaction.
    private mutating func answer(
        _ id: BondID, on link: LockLink, _ octets: [UInt8], _ register: Register, _ agreement: Agreement?,
        paired: (window: Window, bond: BondID)?, _ outputs: inout [Output]
    ) {
        guard let bond = register.bond(id) else { return }
        let procedure = try? ControlPointProcedure(exactly: octets)
        switch (bond.state, bond.programKey) {
        case (.provisional, _): return
        case (.confirmed, .confirmed(let key)):
            // The answer to the first one may have been lost.
            if case .confirmKey(let shown) = procedure, key.isConfirmed(by: shown) {
                return outputs.append(.answer(Self.accepted(key)))
            }
            outputs.append(.admit)
        case (.confirmed, _): outputs.append(.admit)
        case (.unconfirmed, _) where pairedLinks.contains(link): return
        case (.unconfirmed, .none):
            guard (try? ControlPointRequest(exactly: octets))?.opcode == .keyStatus,
                promote(bond, register, paired, &outputs)
            else { return }
            outputs.append(.admit)
        case (.unconfirmed, .awaited(let random)), (.unconfirmed, .agreed(let random, _)):
            switch (procedure, bond.programKey) {
            case (.agreeOnKey(let offer), _): agree(offer, random, bond, agreement, &outputs)
            case (.confirmKey(let shown), .agreed(_, let key)) where key.isConfirmed(by: shown):
                guard promote(bond, register, paired, &outputs) else { return }
                outputs.append(.keepProgramKey(id, .confirmed(key)))
                outputs.append(.answer(Self.accepted(key)))
            // It has the key of an agreement before the last one, and agrees anew.
            case (.confirmKey, _):
                outputs.append(.answer(ControlPointResponse(request: .confirmKey, result: .notPermitted)))
            default: return
            }
        case (.unconfirmed, .confirmed), (.unconfirmed, .unreadable): return
        }
    }

    private static func accepted(_ key: ProgramKey) -> ControlPointResponse {
        ControlPointResponse(request: .confirmKey, result: .success, parameters: key.acceptance)
    }

    /// False, and then nothing is said: there is nothing to be promoted for.
    private mutating func promote(
        _ bond: KnownBond, _ register: Register, _ paired: (window: Window, bond: BondID)?, _ outputs: inout [Output]
    ) -> Bool {
        let named = register.credentials(named: bond.credential)
        guard let credential = Self.credential(of: named) else { return false }
        let ending = paired.flatMap { $0.bond == bond.id ? $0.window : nil }
        handOver(
            credential, among: named, to: bond, register, opener: ending?.opener, sparing: paired?.bond, &outputs)
        if let ending { close(ending, .enrolled(bond.id), register, &outputs) }
        return true
    }

    /// Whoever does not know r gets no answer that tells anything.
    private func agree(
        _ offer: [UInt8], _ random: Secret, _ bond: KnownBond, _ material: Agreement?, _ outputs: inout [Output]
    ) {
        guard let material, let agreement = ProgramKeyAgreement(random: random, lock: material.lock),
            let offered = agreement.key(ofOffer: offer), offered.x != material.keyPair.publicKey.x,
            let key = agreement.programKey(
                own: material.keyPair, peer: offered, offered: offered, answered: material.keyPair.publicKey)
        else {
            return outputs.append(.answer(ControlPointResponse(request: .agreeOnKey, result: .notPermitted)))
        }
        outputs += [
            .keepProgramKey(bond.id, .agreed(random: random, key)),
            .answer(
                ControlPointResponse(
                    request: .agreeOnKey, result: .success,
                    parameters: agreement.answer(material.keyPair.publicKey, to: offered))),
        ]
    }

    /// What a bond enrols for: what its window offered, under the number by which the audit knows the credential. nil when
    /// it is gone, or was disabled and not offered anew.
    private static func credential(of named: [Credential]) -> Credential? {
        let offered = named.first { $0.bond == nil }
        guard var standing = named.first(where: { $0.bond != nil }) else { return offered }
        if let offered {
            standing.role = offered.role
            standing.kind = offered.kind
            standing.isEnabled = offered.isEnabled
        }
        return standing.isEnabled ? standing : nil
    }

    private func handOver(
        _ credential: Credential, among named: [Credential], to bond: KnownBond, _ register: Register,
        opener: CredentialID?, sparing paired: BondID?, _ outputs: inout [Output]
    ) {
        var enrolled = credential
        enrolled.bond = UInt64(bitPattern: bond.id.rawValue)
        outputs += [
            .promoteBond(bond.id), .administration(.credential(enrolled)),
            .administration(.enrolled(enrolled, opener: opener)),
        ]
        for offered in named where offered.bond == nil && offered.id != enrolled.id {
            outputs.append(.administration(.credentialRemoved(offered.id)))
        }
        if let former = credential.bond {
            // The device that had the credential until now is nobody's any more.
            outputs += [
                .administration(.bondForgotten(former)), .deleteBond(BondID(Int64(bitPattern: former))),
            ]
        }
        // The credential is taken. Who paired for it in another window and never came back does not take it away again;
        // only whoever has paired in the window that is open may still come.
        for latecomer in register.unconfirmed(for: bond.credential)
        where latecomer.id != bond.id && latecomer.id != paired {
            outputs.append(.deleteBond(latecomer.id))
        }
        outputs.append(.enrolled(credential: credential.name, bond.id))
    }
}
