import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol
import SecurityManager

/// A lock's enrolment with anything happening to it, beside a model of windows, credentials and bonds: who gets in has
/// paired in a window and come back, a credential has one bond, three failures close, what nobody took up goes.
@Sendable func fuzzLockEnrolment(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var world = EnrolmentWorld()
    while let event = input.nextEvent() { world.happen(event, &input) }
}

private struct EnrolmentWorld {
    private static let names = ["alice", "bob"]
    /// The fuzzer writes no names: the longest and one octet more are choices.
    private static let strangeNames = [
        "", String(repeating: "n", count: CredentialRecord.nameOctetsMaximum),
        String(repeating: "n", count: CredentialRecord.nameOctetsMaximum + 1),
    ]

    private struct Window {
        var name: String
        var end: Instant
        var hasCode: Bool
        var isForProgram: Bool
        var paired: BondID?
    }

    private struct Bond {
        var peer: UInt8
        var credential: String?
        var state: BondState
        var programKey = BondProgramKey.none
    }

    private var machine = LockEnrolment()
    private var now = Instant(nanoseconds: 1_000_000_000)
    private var lastNumber: UInt64 = 0
    private var credentials: [CredentialID: Credential] = [:]
    private var bonds: [BondID: Bond] = [:]
    private var window: Window?
    private var pairedLinks: Set<LockLink> = []
    /// Whom the host lets pair, and when the timer is set to.
    private var radio: String?
    /// What the host keeps with the bond of whoever pairs.
    private var radioKey = BondProgramKey.none
    private var deadline: Instant?
    /// Of the event that is being carried out.
    private var promoted: BondID?
    private var ended: EnrolmentEnd?

    private var register: LockEnrolment.Register {
        // Like the host: nobody hears of a provisional bond.
        let known = bonds.filter { $0.value.state != .provisional }.sorted { $0.key.rawValue < $1.key.rawValue }
        return .init(
            credentials: credentials.values,
            bonds: known.map {
                .init(
                    id: $0.key, credential: $0.value.credential, state: $0.value.state,
                    programKey: $0.value.programKey)
            })
    }

    private func named(_ name: String?) -> [Credential] { credentials.values.filter { $0.name == name } }
    private func offers(to name: String) -> [Credential] { named(name).filter { $0.bond == nil } }
    private func isAwaited(_ name: String) -> Bool {
        bonds.values.contains { $0.state == .unconfirmed && $0.credential == name }
    }

    mutating func happen(_ event: UInt8, _ input: inout FuzzInput) {
        let link = LockLink(rawValue: UInt64(event >> 4 & 3))
        let name = Self.names[Int(event >> 6 & 1)]
        switch event & 15 {
        case 0, 1: open(name, &input)
        case 2: end(.cancelled(register), as: .cancelled)
        case 3: remove(name)
        case 4: setEnabled(name, input.bool())
        case 5: expectNothingButProgress(feed(.passkey(UInt32(input.uint16()))))
        case 6, 7: pair(link, name, &input)
        case 8: fail(endsWindow: input.octet() & 1 == 1)
        case 9, 10: ask(link, &input)
        case 11:
            expectNothingButProgress(feed(.disconnected(link)))
            pairedLinks.remove(link)
        case 12: if let id = chosen(&input) { lose(id) }
        case 13:
            // The process dies, and with it the window. What is on disk is not touched.
            machine = LockEnrolment()
            (window, pairedLinks, radio, deadline) = (nil, [], nil, nil)
        default: pass(&input)
        }
        check()
    }

    private func chosen(_ input: inout FuzzInput) -> BondID? {
        let ids = bonds.keys.sorted { $0.rawValue < $1.rawValue }
        return ids.isEmpty ? nil : ids[Int(input.octet()) % ids.count]
    }

    // MARK: What happens

    /// A bond is deleted. Enrolment hears of one that had not proved itself.
    private mutating func lose(_ id: BondID) {
        guard let bond = bonds.removeValue(forKey: id), bond.state == .unconfirmed else { return }
        let event = LockEnrolment.Event.bondGone(id, credential: bond.credential, register)
        if window?.paired == id { return end(event, as: .cancelled) }
        feed(event)
        require(ended == nil, "somebody else's window closes")
        guard let name = bond.credential, name != window?.name else { return }
        let isTaken = named(name).contains { $0.bond != nil }
        require(!isTaken || isAwaited(name) || offers(to: name).isEmpty, "an offer stays that nobody takes up")
    }

    private mutating func open(_ name: String, _ input: inout FuzzInput) {
        let bits = input.octet()
        let name = bits >> 4 < 3 ? Self.strangeNames[Int(bits >> 4)] : name
        lastNumber += 1
        let seconds = UInt64(input.octet())
        let isForProgram = bits & 4 != 0 && seconds & 1 == 1
        let opening = LockEnrolment.Opening(
            credential: name, role: Role(rawValue: bits & 3) ?? .owner, seconds: seconds,
            offer: bits & 4 == 0 ? .passkey : Self.code(isForProgram), fresh: CredentialID(rawValue: lastNumber))
        let isReady = bits & 8 == 0
        let isGood = (1...CredentialRecord.nameOctetsMaximum).contains(name.utf8.count)
        let standing = named(name).filter { $0.bond != nil }
        guard window == nil, isReady, isGood else {
            let refusal: EnrolmentRefusal =
                if let window { .windowIsOpen(credential: window.name) } else { isReady ? .badName : .notPoweredOn }
            return require(
                feed(.open(opening, isReady: isReady, register)) == [.refuse(refusal)], "a window opens: \(refusal)")
        }
        window = Window(
            name: name, end: now.advanced(byMilliseconds: opening.seconds * 1_000), hasCode: bits & 4 != 0,
            isForProgram: isForProgram)
        let former = offers(to: name).first ?? named(name).first
        let waiting = bonds.filter { $0.value.state == .unconfirmed && $0.value.credential == name }.keys
        feed(.open(opening, isReady: isReady, register))
        let isSame = former.map { $0.role == opening.role && $0.isEnabled } ?? false
        require(
            waiting.allSatisfy { (bonds[$0] != nil) == isSame }, "a bond of an earlier window waits for another offer")
        require(named(name).filter { $0.bond != nil } == standing, "opening a window changes a right")
        require(
            offers(to: name).map(\.role) == [opening.role] && offers(to: name).allSatisfy(\.isEnabled),
            "a window offers something else")
    }

    private static let random = Secret([UInt8](repeating: 2, count: SetupCode.randomOctets))
    private static let lock = IdentityAddress(DeviceAddress(kind: .public, bits: 1))
    /// The window's, the lock's for an agreement, and two programs'.
    private static let keyPairs = (1...4).compactMap { P256KeyPair(scalar: Secret([UInt8](repeating: $0, count: 32))) }

    private static func code(_ isForProgram: Bool) -> LockEnrolment.Offer {
        guard let lock, let keyPair = keyPairs.first else { fatalError("there is no lock") }
        let code = SetupCode(
            lock: lock, confirm: [UInt8](repeating: 3, count: SetupCode.confirmOctets), random: random,
            wantsProgramKey: isForProgram)
        return .outOfBand(keyPair: keyPair, random: random, code: code)
    }

    /// An event that closes the window, if there is one.
    private mutating func end(_ event: LockEnrolment.Event, as expected: EnrolmentEnd) {
        let closing = window
        let offered = closing.map { offers(to: $0.name) } ?? []
        let mayBeTaken = closing.map { isAwaited($0.name) } ?? false
        feed(event)
        require(
            ended == (closing == nil ? nil : expected), "a window that is \(expected) ends \(String(describing: ended))"
        )
        guard let closing else { return }
        let isTaken = named(closing.name).contains { $0.bond != nil }
        require(
            offers(to: closing.name) == (isTaken && !mayBeTaken ? [] : offered),
            "an offer goes that somebody may take up, or stays that nobody will")
    }

    /// As the shell does it: the bonds, the credentials, then the window.
    private mutating func remove(_ name: String) {
        let held = Set(named(name).compactMap(\.bond))
        bonds = bonds.filter {
            $0.value.credential != name && !held.contains(UInt64(bitPattern: $0.key.rawValue))
        }
        credentials = credentials.filter { $0.value.name != name }
        if window?.name == name {
            end(.credentialRemoved(name, register), as: .cancelled)
        } else {
            require(feed(.credentialRemoved(name, register)).isEmpty, "another credential's window closes")
        }
    }

    private mutating func setEnabled(_ name: String, _ isEnabled: Bool) {
        for credential in named(name) { credentials[credential.id]?.isEnabled = isEnabled }
    }

    /// With what the window offers; or, as no host should report it, without one.
    private mutating func pair(_ link: LockLink, _ name: String, _ input: inout FuzzInput) {
        let bits = input.octet()
        lastNumber += 1
        let id = BondID(Int64(lastNumber))
        let bond = Bond(
            peer: bits & 3, credential: radio ?? (bits & 4 == 0 ? nil : name),
            state: BondState(rawValue: bits >> 4 & 3) ?? .unconfirmed)
        // A peer that pairs anew may lose what it had.
        if bits & 8 != 0 { bonds = bonds.filter { $0.value.peer != bond.peer } }
        bonds[id] = bond
        if bond.state == .confirmed {
            // Of an earlier version, or of another database: no window made it.
            bonds[id]?.credential = nil
            return
        }
        if radio != nil { bonds[id]?.programKey = radioKey }
        pairedLinks.insert(link)
        window?.paired = id
        expectNothingButProgress(feed(.paired(link, id)))
        require(radio == nil, "somebody else may pair in what is left of a window")
    }

    /// `endsWindow`: the host has closed its window over it.
    private mutating func fail(endsWindow: Bool) {
        let failure = LockEnrolment.Event.attemptFailed(reason: "", endsWindow: endsWindow, register)
        guard let failing = window, failing.paired == nil else {
            return require(feed(failure).isEmpty, "a failure counts without a window")
        }
        if endsWindow {
            end(failure, as: failing.hasCode ? .burnt : .tooManyFailures)
        } else {
            require(feed(failure) == [.progress(.attemptFailed(""))], "a failure does more")
        }
    }

    private mutating func pass(_ input: inout FuzzInput) {
        now = now.advanced(byMilliseconds: input.milliseconds())
        if let deadline, now >= deadline {
            end(.timerFired(register), as: .expired)
        } else {
            require(feed(.timerFired(register)).isEmpty, "a timer ends what is not over")
        }
    }

    /// A write to the control point, by anybody whose link is encrypted.
    private mutating func ask(_ link: LockLink, _ input: inout FuzzInput) {
        let octets = input.bool() ? [ControlPointOpcode.keyStatus.rawValue] + input.chunk() : input.chunk()
        let id = chosen(&input)
        if let id, let bond = bonds[id], bond.programKey != .none { return askProgram(link, id, bond, &input) }
        guard let id, let bond = bonds[id] else {
            return require(
                feed(.controlPoint(link, BondID(-1), octets, register)).isEmpty, "a bond gets in that there is not")
        }
        let (before, paired) = (credentials, window?.paired)
        let candidates = named(bond.credential)
        let offer = candidates.first { $0.bond == nil }
        let standing = candidates.first { $0.bond != nil }
        let mayEnrol =
            bond.state == .unconfirmed && octets.first == ControlPointOpcode.keyStatus.rawValue
            && !pairedLinks.contains(link) && (offer ?? standing) != nil
            && (standing == nil || (offer ?? standing)?.isEnabled == true)
        let outputs = feed(.controlPoint(link, id, octets, register))
        require(
            (outputs.last == .admit) == (mayEnrol || bond.state == .confirmed), "the wrong one is let in, or kept out")
        guard mayEnrol else {
            return require(promoted == nil && credentials == before, "a credential changes hands for nothing")
        }
        require(promoted == id, "a bond that has proved itself is not promoted")
        let holders = named(bond.credential)
        require(
            holders.map(\.bond) == [UInt64(bitPattern: id.rawValue)], "a credential has two bonds, or an offer is left")
        require(holders.first?.id == (standing ?? offer)?.id, "the audit loses the credential")
        require(holders.first?.role == (offer ?? standing)?.role, "a role is not what was offered")
        let former = standing?.bond.map { BondID(Int64(bitPattern: $0)) }
        require(former.map { bonds[$0] == nil } ?? true, "a former device keeps its bond")
        let waiting = bonds.filter { $0.value.state == .unconfirmed && $0.value.credential == bond.credential }
        require(waiting.keys.allSatisfy { $0 == paired }, "a latecomer is left")
        require((ended == .enrolled(id)) == (paired == id), "a window ends for somebody else, or does not end")
    }

    /// The same by one whose program has a key, or is to have one: what it asks is made as the program makes it, or somebody else.
    private mutating func askProgram(_ link: LockLink, _ id: BondID, _ bond: Bond, _ input: inout FuzzInput) {
        guard let lock = Self.lock, Self.keyPairs.count == 4 else { fatalError("there are no keys") }
        let bits = input.octet()
        let random = bits & 8 == 0 ? Self.random : Secret([UInt8](repeating: 9, count: SetupCode.randomOctets))
        guard let agreement = ProgramKeyAgreement(random: random, lock: lock) else { fatalError("r is no r") }
        let program = Self.keyPairs[2 + Int(bits >> 4 & 1)]
        let held: ProgramKey? =
            switch bond.programKey {
            case .agreed(_, let key), .confirmed(let key): key
            case .none, .awaited, .unreadable: nil
            }
        let isShown = bits & 8 == 0 && held != nil
        let octets: [UInt8] =
            switch bits & 3 {
            case 0: [ControlPointOpcode.keyStatus.rawValue]
            case 1: ControlPointProcedure.agreeOnKey(agreement.offer(program.publicKey)).encoded
            case 2:
                ControlPointProcedure.confirmKey(
                    isShown ? held?.confirmation ?? [] : [UInt8](repeating: bits, count: 16)
                ).encoded
            default: input.chunk()
            }
        let isConfirmed = bits & 3 == 2 && isShown
        let (before, mayTake) = (
            bonds[id], !named(bond.credential).isEmpty && !pairedLinks.contains(link) && bond.state == .unconfirmed
        )
        let material = LockEnrolment.Agreement(lock: lock, keyPair: Self.keyPairs[1])
        let outputs = feed(.controlPoint(link, id, octets, register, material))
        if promoted != nil {
            require(isConfirmed && mayTake && promoted == id, "a bond is confirmed without its program's key")
            return
        }
        guard case .keepProgramKey(_, let state)? = outputs.first else {
            require(bonds[id]?.state == before?.state, "a bond changes for nothing")
            return require(
                (outputs.last == .admit) == (bond.state == .confirmed && !isConfirmed), "the wrong one is let in")
        }
        require(mayOffer(link, bond) && bits & 11 == 1, "a key is agreed on with somebody who does not know r")
        guard case .agreed(Self.random, _) = state else { fatalError("broken: an agreement leaves \(state)") }
    }

    private func mayOffer(_ link: LockLink, _ bond: Bond) -> Bool {
        bond.state == .unconfirmed && !pairedLinks.contains(link)
    }

    // MARK: What comes of it

    @discardableResult
    private mutating func feed(_ event: LockEnrolment.Event) -> [LockEnrolment.Output] {
        (promoted, ended) = (nil, nil)
        var outputs: [LockEnrolment.Output] = []
        machine.handle(event, now: now, into: &outputs)
        for (index, output) in outputs.enumerated() { carryOut(output, of: event, isLast: index == outputs.count - 1) }
        return outputs
    }

    private mutating func carryOut(_ output: LockEnrolment.Output, of event: LockEnrolment.Event, isLast: Bool) {
        switch output {
        case .refuse: require(isLast, "a refusal does something")
        case .administration(let change): administer(change)
        case .setPairingWindow(_, let credential, let programKey):
            require(radio == nil && window?.name == credential, "the radio lets somebody in who is not asked for")
            require(!offers(to: credential).isEmpty, "somebody may pair before the offer is kept")
            require(
                programKey == (window?.isForProgram == true ? .awaited(random: Self.random) : BondProgramKey.none),
                "a bond waits for a program that its window is not for, or waits for none")
            (radio, radioKey) = (credential, programKey)
        case .closePairingWindow: radio = nil
        case .promoteBond(let id):
            guard case .controlPoint(let link, id, _, _, _) = event else {
                fatalError("broken: nobody proved this bond")
            }
            require(bonds[id]?.state == .unconfirmed && !pairedLinks.contains(link), "a bond is promoted unproven")
            require(!named(bonds[id]?.credential).isEmpty, "a bond is promoted that names no credential")
            let peer = bonds[id]?.peer
            bonds = bonds.filter { $0.key == id || $0.value.peer != peer }
            bonds[id]?.state = .confirmed
            promoted = id
        case .deleteBond(let id):
            if case .open = event {
                require(
                    bonds[id]?.state == .unconfirmed && bonds[id]?.credential == window?.name, "a window deletes a key")
            } else {
                require(promoted != nil && id != promoted && id != window?.paired, "a bond is lost")
            }
            bonds[id] = nil
        case .deadline(let instant):
            require(instant == (ended == nil ? window?.end : nil), "a window has no end, or an end has a window")
            deadline = instant
        case .progress(let progress):
            require(window != nil && ended == nil, "somebody hears of a window that is closed")
            if case .ended(let end) = progress { ended = end }
        case .enrolled(_, let id): require(id == promoted, "another bond is said to be enrolled")
        case .admit:
            require(isLast, "somebody is let in before it is settled")
            if case .controlPoint(_, let id, _, _, _) = event {
                require(bonds[id]?.state == .confirmed, "an unconfirmed bond is let in")
            }
        case .keepProgramKey(let id, let state): bonds[id]?.programKey = state
        case .answer: require(isLast, "somebody is answered before it is settled")
        }
    }

    private mutating func administer(_ change: LockAdministration) {
        switch change {
        case .credential(let credential):
            require(credential.bond == promoted.map { UInt64(bitPattern: $0.rawValue) }, "a right without a proof")
            credentials[credential.id] = credential
        case .credentialRemoved(let id):
            require(credentials[id] != nil && credentials[id]?.bond == nil, "a right is taken with an offer")
            credentials[id] = nil
        case .bondForgotten(let bond):
            require(!credentials.values.contains { $0.bond == bond }, "a bond is forgotten that has a right")
        case .windowOpened(let name, let role, _):
            require(offers(to: name).contains { $0.role == role }, "a window is on record that nobody is offered")
        case .windowClosed(let name, _, _): require(window?.name == name, "the end of another window is on record")
        case .enrolled(let credential, _):
            require(credentials[credential.id] == credential, "a key is on record that has no right")
            require(credential.bond == promoted.map { UInt64(bitPattern: $0.rawValue) }, "a key is on record unproven")
        case .named, .ofUser, .unreadableRemoved, .settings, .rules, .mode, .operate, .reset, .asked, .stopped,
            .stateConfirmed, .bondEnded:
            fatalError("broken: enrolment administers what is not its own")
        }
    }

    private func expectNothingButProgress(_ outputs: [LockEnrolment.Output]) {
        for output in outputs {
            switch output {
            case .progress, .closePairingWindow: break
            case .refuse, .administration, .setPairingWindow, .promoteBond, .deleteBond, .deadline, .enrolled, .admit,
                .keepProgramKey, .answer:
                fatalError("broken: \(output) for nothing")
            }
        }
    }

    private mutating func check() {
        if ended != nil {
            (window, ended) = (nil, nil)
            require(deadline == nil, "a window that is closed has a timer")
        }
        require(machine.credential == window?.name, "a window is open for somebody else")
        require(radio == (window?.paired == nil ? window?.name : nil), "the radio's window is not the lock's")
        let held = credentials.values.compactMap(\.bond)
        require(Set(held).count == held.count, "two credentials have one bond")
    }
}
