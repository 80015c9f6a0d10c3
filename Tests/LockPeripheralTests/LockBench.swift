import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol
import MemoryStores
import Testing

let boot = BootID(bits: 1)
let receiptHandle = AttributeHandle(0x1C)
let alice: UInt64 = 7
let bob: UInt64 = 8

func receiptKey(of bond: UInt64) -> ReceiptKey {
    ReceiptKey(lockCSRK: Secret([UInt8](repeating: UInt8(truncatingIfNeeded: bond), count: 16)))
}

func claim(_ bond: UInt64) -> LinkClaim { LinkClaim(bond: bond, receiptKey: receiptKey(of: bond)) }

extension LockSnapshot {
    /// Alice owns the lock, Bob may only lock it.
    static var furnished: Self {
        var snapshot = Self()
        snapshot.apply(.credential(Credential(id: CredentialID(rawValue: 1), name: "Alice", role: .owner, bond: alice)))
        snapshot.apply(.credential(Credential(id: CredentialID(rawValue: 2), name: "Bob", role: .lockOnly, bond: bob)))
        snapshot.apply(.bolt(BoltRecord(position: .locked, door: .closed)))
        return snapshot
    }
}

/// A lock on the bench: one machine, a store that commits each turn, time moved by hand. The bolt moves only when told.
struct LockBench {
    var machine: LockMachine
    let store: MemoryLockStore
    var now: Instant
    var wallClockSeconds: Int64?
    var nextRandom: UInt64 = 0x0000_1111_1111_0001
    /// What the last input made the lock do.
    var outputs: [LockOutput] = []
    /// That a manager has opened.
    var window: ControlPointContext.Window?
    /// Of the settings, by the configuration.
    var fixed: LockSettings.Fields = []

    init(
        _ snapshot: LockSnapshot = .furnished,
        reading: BoltReading = BoltReading(position: .locked, door: .closed), boot: BootID = boot,
        rules: DoorRules = DoorRules(), auditRecordsMaximum: UInt64 = AuditRetention.recordsMaximum,
        now: Instant = Instant(nanoseconds: 1_000_000_000), wallClockSeconds: Int64? = 1_800_000_000
    ) {
        self.wallClockSeconds = wallClockSeconds
        self.now = now
        store = MemoryLockStore(snapshot, auditRecordsMaximum: auditRecordsMaximum)
        var outputs: [LockOutput] = []
        machine = LockMachine(
            restoring: snapshot, reading: reading, boot: boot, receiptHandle: receiptHandle, rules: rules,
            at: LockMoment(now: now, wallClockSeconds: wallClockSeconds), into: &outputs)
        self.outputs = outputs
        commit()
    }

    private func commit() {
        for case .persist(let fact) in outputs { store.append(fact) }
        store.didCommit()
    }

    @discardableResult
    mutating func put(_ input: LockInput) -> [LockOutput] {
        outputs.removeAll()
        machine.handle(
            input, at: LockMoment(now: now, wallClockSeconds: wallClockSeconds), random: nextRandom, into: &outputs)
        nextRandom += 1
        commit()
        return outputs
    }

    /// The bolt does what it was ordered last.
    mutating func finishMovement() {
        for order in orders { put(.actuator(.ended(order.intent, order.movement.target))) }
    }

    mutating func pass(milliseconds: UInt64) { now = now.advanced(byMilliseconds: milliseconds) }

    /// Lets time pass as a loop does: every deadline is met on the way.
    @discardableResult
    mutating func run(milliseconds: UInt64) -> [LockOutput] {
        let end = now.advanced(byMilliseconds: milliseconds)
        var all: [LockOutput] = []
        while let deadline = machine.deadline, deadline <= end {
            now = max(now, deadline)
            all += put(.timerFired)
        }
        now = end
        return all
    }

    mutating func connect(
        _ link: UInt64, _ bond: UInt64 = alice, to subscriptions: Set<LockSubscription> = [.challenge, .receipt]
    ) {
        put(.connected(LockLink(rawValue: link), claim(bond), subscriptions: subscriptions))
    }

    mutating func connectEncrypted(_ link: UInt64, _ bond: UInt64 = alice) {
        connect(link, bond, to: [.challenge])
        put(.encrypted(LockLink(rawValue: link), claim(bond)))
        let encrypted = outputs
        put(.subscription(LockLink(rawValue: link), .lockState, isOn: true))
        outputs = encrypted
    }

    /// The newest challenge that the last input sent to a link.
    func challenge(_ link: UInt64) throws -> Challenge {
        let octets = outputs.compactMap { output -> [UInt8]? in
            switch output {
            case .notifyChallenge(let to, let octets) where to.rawValue == link: octets
            case .challengeValue(let to, let octets) where to.rawValue == link: octets
            default: nil
            }
        }
        return try Challenge(exactly: try #require(octets.last))
    }

    @discardableResult
    mutating func signed(_ link: UInt64, _ command: LockCommand, counter: UInt32 = 1) -> [LockOutput] {
        put(.command(LockLink(rawValue: link), .signed(counter: counter), command.encoded))
    }

    @discardableResult
    mutating func encrypted(_ link: UInt64, _ command: LockCommand) -> [LockOutput] {
        put(.command(LockLink(rawValue: link), .encrypted, command.encoded))
    }

    func receipt(_ link: UInt64, bond: UInt64 = alice, answering challenge: ChallengeID) throws -> LockState {
        let octets = outputs.compactMap { output -> [UInt8]? in
            if case .notifyReceipt(let to, let octets) = output, to.rawValue == link { octets } else { nil }
        }
        let receipt = try Receipt(exactly: try #require(octets.last))
        return try #require(receiptKey(of: bond).open(receipt, answering: challenge, handle: receiptHandle))
    }

    /// What the last input told an encrypted link.
    func lockState(_ link: UInt64) -> LockState? {
        outputs.compactMap { output -> LockState? in
            guard case .notifyLockState(LockLink(rawValue: link), let octets) = output else { return nil }
            return try? LockState(exactly: octets)
        }.last
    }

    /// Asks for it.
    mutating func keyStatus(on link: UInt64) throws -> KeyStatus {
        put(.controlPoint(LockLink(rawValue: link), ControlPointRequest(opcode: .keyStatus).encoded))
        let octets = outputs.compactMap { if case .indicateControlPoint(_, let octets) = $0 { octets } else { nil } }
        return try KeyStatus(exactly: try ControlPointResponse(exactly: try #require(octets.first)).parameters)
    }

    func verdict(on operation: LockOperation) -> LockResult { machine.verdict(on: operation, at: now) }

    var orders: [ActuatorOrder] {
        outputs.compactMap { if case .actuate(let order) = $0 { order } else { nil } }
    }

    var persists: [LockMutation] {
        outputs.compactMap { if case .persist(let fact) = $0 { fact } else { nil } }
    }

    var events: [AuditEvent] {
        persists.compactMap { if case .audit(let record) = $0 { record.event } else { nil } }
    }

    var isDisconnecting: Bool { outputs.contains { if case .disconnect = $0 { true } else { false } } }
    /// Behind everything that is said.
    var isLastDisconnect: Bool { if case .disconnect = outputs.last { true } else { false } }
}

func unlock(
    _ challenge: Challenge, _ argument: RelockArgument = .setting, within bound: CommandBound = .challengeLife
) -> LockCommand {
    LockCommand(operation: .unlock, argument: argument, bound: bound, challenge: challenge.id)
}
