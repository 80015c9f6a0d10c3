import BluetoothCore
import BluetoothCrypto
import LockCentral
import LockProtocol
import SecurityManager

/// A key's enrolment with anything happening to it, beside a model of links, bonds and the operator: a bond is promoted by
/// the lock's answer over its own encryption, and deleted by another one's; who enrols is told one end; nothing that waits is
/// forgotten.
@Sendable func fuzzKeyEnrolment(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var world = KeyEnrolmentWorld()
    while let event = input.nextEvent() { world.happen(event, &input) }
}

private struct KeyEnrolmentWorld {
    private static let peers = [PeerIdentifier(bits: 1), PeerIdentifier(bits: 2)]
    private static let operatorWaitMilliseconds: UInt64 = 20_000
    /// The host keeps no more of them.
    private static let unconfirmedMaximum = 2
    private static let data = OutOfBandData(
        address: DeviceAddress(kind: .public, bits: 1), random: Secret([UInt8](repeating: 2, count: 16)), confirm: 3)

    private struct Bond {
        var peer: PeerIdentifier
        var isConfirmed = false
    }

    private enum Link: Equatable {
        case none
        case pending
        /// `isPairing`: it is the pairing's, from the asking on.
        case up(bond: BondID?, isPairing: Bool)
    }

    private struct Operator {
        var peer: PeerIdentifier
        var until: Instant
        var hasPaired = false
    }

    private var machine = KeyEnrolmentMachine()
    private var now = Instant(nanoseconds: 1_000_000_000)
    private var lastBond: Int64 = 0
    private var bonds: [BondID: Bond] = [:]
    private var links: [PeerIdentifier: Link] = [:]
    private var asked: Set<PeerIdentifier> = []
    private var deadline: Instant?
    /// Who waits, and behind them who takes their place.
    private var operators: [Operator] = []

    private func link(_ peer: PeerIdentifier) -> Link { links[peer] ?? .none }

    private var register: KeyEnrolmentMachine.Register {
        let unconfirmed = bonds.filter { !$0.value.isConfirmed }.sorted { $0.key.rawValue < $1.key.rawValue }
        return .init(bonds: unconfirmed.map { .init(id: $0.key, peer: $0.value.peer) }, asked: asked)
    }

    mutating func happen(_ event: UInt8, _ input: inout FuzzInput) {
        let peer = Self.peers[Int(event >> 4 & 1)]
        switch event & 15 {
        case 0: enrol(peer)
        case 1:
            feed(.cancelled(register))
            require(operators.isEmpty, "somebody waits who has let go")
        case 2:
            // The process dies, and with it the links and whoever waits. The next one finds the bonds.
            machine = KeyEnrolmentMachine()
            (links, deadline, operators, asked) = ([:], nil, [], [])
            feed(.poweredOn(register))
            let waiting = Set(register.bonds.compactMap(\.peer))
            require(waiting.allSatisfy { machine.holds($0) }, "a bond is forgotten by the next process")
        case 3: feed(.poweredOn(register))
        case 4, 5: connect(peer)
        case 6: pair(peer)
        case 7: feed(.pairingFailed(peer, reason: "", register))
        case 8, 9: encrypt(peer, &input)
        case 10: if case .up = link(peer) { feed(.encryptionFailed(peer)) }
        case 11: if case .up = link(peer) { feed(.prepared(peer, isTreeKnown: input.octet() & 7 != 0)) }
        case 12: answer(peer, &input)
        case 13: end(peer, isLost: input.bool())
        case 14: strange(peer, &input)
        default: pass(&input)
        }
        check()
    }

    // MARK: What happens

    private mutating func enrol(_ peer: PeerIdentifier) {
        operators.append(
            Operator(peer: peer, until: now.advanced(byMilliseconds: Self.operatorWaitMilliseconds)))
        feed(.enrol(peer, Self.data, waitMilliseconds: Self.operatorWaitMilliseconds, register))
        require(operators.count == 1 && machine.enrolling == peer, "two operators wait, or nobody does")
    }

    /// Also one that the key's own machine has asked for.
    private mutating func connect(_ peer: PeerIdentifier) {
        if case .up = link(peer) { return }
        guard link(peer) == .pending || asked.contains(peer) else { return }
        links[peer] = .up(bond: nil, isPairing: false)
        let isHeld = machine.holds(peer)
        require(feed(.connected(peer)).contains(.passOn) != isHeld, "a link has two owners, or none")
    }

    private mutating func pair(_ peer: PeerIdentifier) {
        lastBond += 1
        let bond = BondID(lastBond)
        guard case .up(_, isPairing: true) = link(peer) else { return feed(.paired(peer, bond), expecting: []) }
        let unconfirmed = register.bonds.filter { $0.peer == peer }
        if unconfirmed.count >= Self.unconfirmedMaximum { bonds[unconfirmed[0].id] = nil }
        bonds[bond] = Bond(peer: peer)
        links[peer] = .up(bond: bond, isPairing: true)
        feed(.paired(peer, bond))
    }

    private mutating func encrypt(_ peer: PeerIdentifier, _ input: inout FuzzInput) {
        guard case .up(_, let isPairing) = link(peer) else { return }
        let held = bonds.filter { $0.value.peer == peer }.keys.sorted { $0.rawValue < $1.rawValue }
        guard !held.isEmpty else { return }
        let bond = held[Int(input.octet()) % held.count]
        links[peer] = .up(bond: bond, isPairing: isPairing)
        feed(.encrypted(peer, isConfirmed: bonds[bond]?.isConfirmed == true, register))
    }

    private mutating func answer(_ peer: PeerIdentifier, _ input: inout FuzzInput) {
        guard case .up(let bond, _) = link(peer) else { return }
        let isKeyStatus = input.bool()
        let octets =
            isKeyStatus
            ? [ControlPointOpcode.response.rawValue, ControlPointOpcode.keyStatus.rawValue] + input.chunk()
            : input.chunk()
        let proof = bond.map {
            KeyEnrolmentMachine.Proof(bond: $0, record: LockRecord(peer: peer, name: "door"))
        }
        feed(.answered(peer, octets, proof, register))
    }

    private mutating func end(_ peer: PeerIdentifier, isLost: Bool) {
        guard link(peer) != .none else { return }
        links[peer] = Link.none
        feed(.disconnected(peer, isLost: isLost, register))
    }

    private mutating func strange(_ peer: PeerIdentifier, _ input: inout FuzzInput) {
        if input.bool() {
            asked.formSymmetricDifference([peer])
        } else if case .up = link(peer) {
            feed(.unprepared(peer, register))
        }
    }

    private mutating func pass(_ input: inout FuzzInput) {
        now = now.advanced(byMilliseconds: input.milliseconds())
        guard let due = deadline, now >= due else { return }
        deadline = nil
        feed(.timerFired(register))
        require(operators.allSatisfy { now < $0.until }, "an operator waits for ever")
        require(deadline.map { now < $0 } ?? true, "a timer is set to the past")
    }

    // MARK: What comes of it

    private mutating func feed(_ event: KeyEnrolmentMachine.Event, expecting expected: [KeyEnrolmentMachine.Output]) {
        require(feed(event) == expected, "\(event) does something")
    }

    @discardableResult
    private mutating func feed(_ event: KeyEnrolmentMachine.Event) -> [KeyEnrolmentMachine.Output] {
        var outputs: [KeyEnrolmentMachine.Output] = []
        machine.handle(event, now: now, into: &outputs)
        for (index, output) in outputs.enumerated() {
            carryOut(output, of: event, isFirst: index == 0, isLast: index == outputs.count - 1)
        }
        return outputs
    }

    private mutating func carryOut(
        _ output: KeyEnrolmentMachine.Output, of event: KeyEnrolmentMachine.Event, isFirst: Bool, isLast: Bool
    ) {
        switch output {
        case .deadline(let instant):
            require(isFirst && instant != deadline, "a timer is set late, or for nothing")
            deadline = instant
        case .connect(let peer): if link(peer) == .none { links[peer] = .pending }
        case .disconnect(let peer):
            // Like the host: the end is told within the call.
            require(machine.holds(peer), "a link is ended that is another's")
            end(peer, isLost: false)
        case .release(let peer): links[peer] = Link.none
        case .pair(let peer, _, _, let programKey):
            guard case .up(nil, isPairing: false) = link(peer), operators.last?.peer == peer,
                operators.last?.hasPaired == false
            else { fatalError("broken: a code is used twice, or for another link") }
            require(programKey == .none, "a bond waits for a program, and no code was for one")
            operators[operators.count - 1].hasPaired = true
            links[peer] = .up(bond: nil, isPairing: true)
        case .discover(let peer), .encrypt(let peer), .askKeyStatus(let peer):
            guard case .up = link(peer) else { fatalError("broken: \(output) without a link") }
        case .agreeOnKey, .confirmKey, .keepProgramKey:
            fatalError("broken: \(output), and no code was for a program")
        case .promoteBond(let id): promote(id, event)
        case .deleteBond(let id):
            guard case .encrypted(let peer, true, _) = event, bonds[id]?.peer == peer, bonds[id]?.isConfirmed == false
            else { fatalError("broken: a bond is deleted, and no other one has encrypted a link") }
            bonds[id] = nil
        case .keep(let record):
            require(bonds.contains { $0.value.peer == record.peer && $0.value.isConfirmed }, "a lock without a bond")
        case .bonded(let peer), .enrolled(let peer, _):
            require(bonds.contains { $0.value.peer == peer && $0.value.isConfirmed }, "enrolled without a bond")
        case .progress(let progress):
            require(!operators.isEmpty, "somebody hears of an enrolment that has ended")
            switch progress {
            case .connecting, .pairing, .paired: break
            case .enrolled, .failed: operators.removeFirst()
            }
        case .passOn: require(isLast, "an event is passed on before it is settled")
        }
    }

    private mutating func promote(_ id: BondID, _ event: KeyEnrolmentMachine.Event) {
        guard case .answered(let peer, let octets, _, _) = event, link(peer) == .up(bond: id, isPairing: false),
            let response = try? ControlPointResponse(exactly: octets), response.request == .keyStatus
        else { fatalError("broken: a bond is promoted that has not proved itself") }
        require(bonds[id]?.isConfirmed == false, "a bond is promoted twice")
        bonds = bonds.filter { $0.key == id || $0.value.peer != peer }
        bonds[id]?.isConfirmed = true
    }

    private func check() {
        require(machine.enrolling == operators.first?.peer && operators.count < 2, "somebody else waits")
        for lock in machine.unattended(register) {
            require(
                lock.linksLost <= KeyEnrolmentMachine.confirmationsLostMaximum, "lost links are counted without end")
        }
        for bond in bonds.values where !bond.isConfirmed {
            require(machine.isConfirming(bond.peer) || operators.first?.peer == bond.peer, "a bond is forgotten")
        }
        for peer in Self.peers where machine.holds(peer) {
            require(link(peer) != .none || deadline != nil, "a lock is waited for, and nothing comes of it")
            if case .up = link(peer) { require(deadline != nil, "a link is kept without end") }
        }
    }
}
