import BluetoothCore
import BluetoothCrypto
import LockCentral
import LockProtocol

/// A key with anything happening to it, kills among it: facts come before acts, every request ends once, and nothing is
/// sent that is not on disk as sent.
@Sendable func fuzzKeyMachine(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var world = KeyWorld()
    while let event = input.nextEvent() { world.happen(event, &input) }
}

private struct KeyWorld {
    private static let handle = AttributeHandle(0x20)
    private static let receiptKey = ReceiptKey(lockCSRK: Secret([UInt8](repeating: 9, count: 16)))
    private static let programKey = ProgramKey(Secret([UInt8](repeating: 8, count: ProgramKey.octets)))

    private var machine: KeyMachine
    private var committed = KeySnapshot()
    private var boot = BootID(bits: 1)
    private var now = Instant(nanoseconds: 1_000_000_000)
    private var outputs: [KeyOutput] = []
    private var open: Set<KeyRequestID> = []
    private var taken: Set<KeyRequestID> = []
    private var counter: UInt32 = 0
    private var random: UInt64 = 0
    /// What was written last to each lock's control point.
    private var asked: [PeerIdentifier: [UInt8]] = [:]
    /// When each lock's last challenge came.
    private var received: [PeerIdentifier: Instant] = [:]
    /// Locks whose user walks to calibrate them.
    private var walks: Set<PeerIdentifier> = []
    /// What nobody has decided, nor the key itself ended.
    private var approaches: [PeerIdentifier: Approach] = [:]

    /// While the nearest lock is looked for.
    private var lookEnds: Instant?

    init() {
        for bits: UInt128 in 0..<2 {
            let record = LockRecord(
                peer: PeerIdentifier(bits: bits), name: "fuzz", unlocksWhenNear: true, locksWhenLeaving: bits == 0)
            committed.apply(.lock(record))
        }
        machine = KeyMachine(restoring: committed, boot: boot, now: now, into: &outputs)
        settle()
    }

    mutating func happen(_ event: UInt8, _ input: inout FuzzInput) {
        // The third is unknown.
        let peer = PeerIdentifier(bits: UInt128(min(event >> 4 & 3, 2)))
        switch event & 15 {
        case 0:
            let operation = LockOperation(rawValue: input.octet())
            let life = UInt64(input.uint16())
            feed(.ask(peer, operation, RelockArgument(octet: input.octet()), lifeMilliseconds: life))
        case 1:
            let octet = input.octet()
            switch octet & 7 {
            case 0: feed(octet & 8 == 0 ? .cancel(peer) : .prefer(peer, octet & 16 == 0))
            case 1: feed(octet & 8 == 0 ? .bonded(peer) : .note(peer, Self.note(input.chunk())))
            case 2: feed(.notWritten(peer, isLate: input.bool()))
            case 3: feed(.radio(isOn: input.bool()))
            case 4: if octet & 8 == 0 { calibrate(peer) } else { cancelNearest() }
            case 5:
                walks.remove(peer)
                feed(.endCalibration(peer))
            case 6:
                let near = Int(Int8(bitPattern: input.octet()))
                feed(.thresholds(peer, ProximityThresholds(nearDBm: near, awayDBm: near - Int(input.octet() & 15))))
            default: if input.bool() { feed(.watched(input.bool())) } else { askNearest(&input) }
            }
        case 2:
            let record = LockRecord(peer: peer, name: "fuzz", unlocksWhenNear: input.bool())
            feed(input.bool() ? .forget(peer) : .lock(record))
        case 3:
            let path = SignedPath(receiptKey: Self.receiptKey, receiptHandle: Self.handle)
            feed(.connected(peer, input.bool() ? path : nil))
        case 4: feed(.disconnected(peer))
        case 5:
            switch input.octet() & 3 {
            case 0: feed(.encryptionFailed(peer))
            case 1: feed(.proven(peer))
            case 2: feed(.encrypted(peer, Self.programKey))
            default: feed(.encrypted(peer))
            }
        case 6:
            let challenge = Challenge(
                id: ChallengeID(bits: UInt64(input.octet())), remainingLife: input.octet(),
                flags: Challenge.Flags(rawValue: input.octet()))
            present(peer, challenge.encoded)
        case 7: present(peer, input.chunk())
        case 8, 9: answer(peer, isSealed: event & 1 == 0, &input)
        case 10: feed(input.bool() ? .receipt(peer, input.chunk()) : .lockState(peer, input.chunk()))
        case 11: status(peer, &input)
        case 12:
            if let approach = approaches[peer] {
                approaches[peer] = nil
                feed(.decided(approach, opens: input.bool()))
            } else {
                feed(.controlPoint(peer, input.chunk()))
            }
        case 13:
            let rssi = Int8(bitPattern: input.octet())
            feed(rssi & 1 == 0 ? .rssi(peer, rssi) : .linkRSSI(peer, rssi))
        case 14:
            now = now.advanced(byMilliseconds: input.milliseconds())
            feed(.timerFired)
            require(lookEnds.map { now < $0 } ?? true, "the nearest lock is looked for without end")
        default: relaunch(&input)
        }
    }

    private mutating func calibrate(_ peer: PeerIdentifier) {
        guard walks.insert(peer).inserted else { return }
        feed(.calibrate(peer))
    }

    private static func note(_ octets: [UInt8]) -> LockNote? { try? LockNote(String(decoding: octets, as: UTF8.self)) }

    /// Until the verdict another one is not heard.
    private mutating func askNearest(_ input: inout FuzzInput) {
        let operation = LockOperation(rawValue: input.octet())
        let life = UInt64(input.uint16())
        if lookEnds == nil { lookEnds = now.advanced(byMilliseconds: min(life / 2, 6_000)) }
        feed(.askNearest(operation, .setting, lifeMilliseconds: life))
    }

    private mutating func cancelNearest() {
        lookEnds = nil
        feed(.cancelNearest)
    }

    private mutating func present(_ peer: PeerIdentifier, _ octets: [UInt8]) {
        if (try? Challenge(exactly: octets)) != nil { received[peer] = now }
        feed(.challenge(peer, octets))
    }

    private func sent(_ peer: PeerIdentifier) -> ChallengeID {
        committed.locks[peer]?.request?.sent ?? ChallengeID(bits: 1)
    }

    /// What only the lock could say.
    private mutating func answer(_ peer: PeerIdentifier, isSealed: Bool, _ input: inout FuzzInput) {
        let challenge = sent(peer)
        let state = LockState(
            bolt: BoltCode(rawValue: input.octet()), door: DoorCode(rawValue: input.octet()),
            result: LockResult(rawValue: input.octet() & 15), answered: challenge.prefix)
        guard isSealed else { return feed(.lockState(peer, state.encoded)) }
        counter &+= UInt32(input.octet())
        let receipt = Self.receiptKey.seal(state, lockCounter: counter, answering: challenge, handle: Self.handle)
        feed(.receipt(peer, receipt.encoded))
    }

    private mutating func status(_ peer: PeerIdentifier, _ input: inout FuzzInput) {
        let last = LastCommand(
            challenge: sent(peer), signCounter: nil, result: LockResult(rawValue: input.octet() & 15),
            phase: CommandPhase(rawValue: input.octet() & 7))
        let status = KeyStatus(role: 1, rights: [.lock, .unlock], lastCommand: input.bool() ? last : nil)
        let asked = asked[peer] ?? []
        guard case .questionKeyStatus(let question)? = try? ControlPointProcedure(exactly: asked),
            let key = Self.programKey
        else {
            let response = ControlPointResponse(request: .keyStatus, result: .success, parameters: status.encoded)
            return feed(.controlPoint(peer, response.encoded))
        }
        let response = ControlPointResponse(
            request: .keyStatus, result: .success, parameters: QuestionedStatus(status, asked: question).encoded)
        feed(.controlPoint(peer, key.authenticated(response, asked: asked).encoded))
    }

    private mutating func relaunch(_ input: inout FuzzInput) {
        if input.bool() {
            boot = BootID(bits: boot.bits + 1)
            now = Instant(nanoseconds: UInt64(input.octet()) * 1_000_000)
        }
        outputs.removeAll()
        approaches = [:]
        (walks, lookEnds) = ([], nil)
        let policy = ApproachPolicy(
            asksFirst: input.bool(), needsUser: input.bool(), asksProgram: input.bool())
        machine = KeyMachine(restoring: committed, boot: boot, policy: policy, now: now, into: &outputs)
        settle()
    }

    private mutating func feed(_ event: KeyInput) {
        random &+= 1
        machine.handle(event, now: now, random: random, into: &outputs)
        settle()
    }

    private mutating func settle() {
        var hasActed = false
        for output in outputs {
            if case .persist(let fact) = output {
                require(!hasActed, "a fact comes behind an act")
                committed.apply(fact)
                continue
            }
            hasActed = true
            act(output)
        }
        outputs.removeAll()
        require(
            Set(committed.preferred).count == committed.preferred.count
                && committed.preferred.allSatisfy { committed.locks[$0] != nil },
            "what is preferred is no lock, or two")
        let kept = Set(committed.locks.values.compactMap { $0.request?.id })
        require(kept == open, "\(open.count) requests are open and \(kept.count) are kept")
        for peer in walks {
            require(committed.locks[peer]?.request?.origin != .proximity, "a walk opens or closes its lock")
        }
    }

    private mutating func act(_ output: KeyOutput) {
        switch output {
        case .sought(let verdict):
            require(lookEnds != nil, "a verdict that nobody waits for")
            lookEnds = nil
            switch verdict {
            case .found(let peer): require(committed.locks[peer] != nil, "no lock is the nearest")
            case .preferred(let peer): require(committed.preferred.contains(peer), "nobody prefers what is opened")
            case .several(let peers):
                require(Set(peers).isDisjoint(with: committed.preferred), "a preferred lock is not opened")
            case .none, .unmeasured: break
            }
        case .took(_, let id):
            require(taken.insert(id).inserted, "a request's number was given twice")
            open.insert(id)
        case .calibration(let peer, let report):
            require(walks.contains(peer), "a walk is told of that is over")
            if case .ended = report { walks.remove(peer) }
        case .approached(let approach):
            require(!walks.contains(approach.peer), "a walk comes near")
            require(
                approaches.updateValue(approach, forKey: approach.peer).map { $0.until <= now } ?? true,
                "what is to be decided is asked again")
        case .approachEnded(let approach):
            if approaches[approach.peer] == approach { approaches[approach.peer] = nil }
        case .byItself(_, let id, _, _): require(open.contains(id), "a request of the key's own has ended before")
        case .ended(_, let id, _): require(open.remove(id) != nil, "a request ended twice")
        case .writeSigned(let peer, let octets, let until), .writeEncrypted(let peer, let octets, let until):
            require(now < until, "a command is written whose time is over")
            let command = try? LockCommand(exactly: octets)
            require(command != nil, "what is sent is no command")
            require(committed.locks[peer]?.request?.sent == command?.challenge, "a command leaves that is not on disk")
            if let milliseconds = command?.bound.milliseconds, let received = received[peer] {
                require(
                    received.advanced(byMilliseconds: milliseconds) <= until, "a command's bound ends behind its time")
            }
        case .writeProgram(let peer, let command, let until):
            require(now < until, "a command is written whose time is over")
            require(committed.locks[peer]?.request?.sent == command.challenge, "a command leaves that is not on disk")
        case .writeControlPoint(let peer, let octets):
            require(octets.count <= 20, "a procedure needs a longer MTU")
            asked[peer] = octets
        case .persist, .connect, .disconnect, .encrypt, .vouch, .readChallenge, .readRSSI, .outcome, .stateKnown,
            .advanceSignCounter:
            break
        }
    }
}
