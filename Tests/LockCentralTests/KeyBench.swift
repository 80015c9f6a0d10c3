import BluetoothCore
import BluetoothCrypto
import LockCentral
import LockProtocol
import MemoryStores
import Testing

let boot = BootID(bits: 1)
let door = PeerIdentifier(bits: 42)
let receiptHandle = AttributeHandle(0x1C)
let lockKey = ReceiptKey(lockCSRK: Secret([UInt8](repeating: 9, count: 16)))

extension KeySnapshot {
    static var furnished: Self {
        var snapshot = Self()
        snapshot.apply(
            .lock(LockRecord(peer: door, name: "Front door", unlocksWhenNear: true, locksWhenLeaving: true)))
        return snapshot
    }
}

/// A key on the bench: one machine, a store that commits each turn, time moved by hand; the test plays the lock.
struct KeyBench {
    var machine: KeyMachine
    let store: MemoryKeyStore
    var now = Instant(nanoseconds: 1_000_000_000)
    /// Of the last input.
    private(set) var random: UInt64 = 0x0102_0304_0506_0700
    var outputs: [KeyOutput] = []
    /// Locks whose link's RSSI is asked for and not said.
    private(set) var unread: Set<PeerIdentifier> = []

    init(
        _ snapshot: KeySnapshot = .furnished, boot: BootID = boot, rules: ProximityRules = ProximityRules(),
        policy: ApproachPolicy = .immediate, now: Instant = Instant(nanoseconds: 1_000_000_000)
    ) {
        self.now = now
        store = MemoryKeyStore(snapshot)
        var outputs: [KeyOutput] = []
        machine = KeyMachine(restoring: snapshot, boot: boot, rules: rules, policy: policy, now: now, into: &outputs)
        self.outputs = outputs
        commit()
    }

    private func commit() {
        for case .persist(let fact) in outputs { store.append(fact) }
        store.didCommit()
    }

    @discardableResult
    mutating func put(_ input: KeyInput) -> [KeyOutput] {
        outputs.removeAll()
        random &+= 1
        if case .linkRSSI(let peer, _) = input { unread.remove(peer) }
        machine.handle(input, now: now, random: random, into: &outputs)
        for case .readRSSI(let peer) in outputs { unread.insert(peer) }
        commit()
        return outputs
    }

    @discardableResult
    mutating func run(milliseconds: UInt64) -> [KeyOutput] {
        let end = now.advanced(byMilliseconds: milliseconds)
        var all: [KeyOutput] = []
        while let deadline = machine.deadline, deadline <= end {
            now = max(now, deadline)
            all += put(.timerFired)
        }
        now = end
        outputs = all
        return all
    }

    mutating func ask(_ operation: LockOperation = .unlock, lifeMilliseconds: UInt64 = 30_000) {
        put(.ask(door, operation, .setting, lifeMilliseconds: lifeMilliseconds))
    }

    mutating func connect(signed: Bool = true) {
        put(.connected(door, signed ? SignedPath(receiptKey: lockKey, receiptHandle: receiptHandle) : nil))
    }

    mutating func challenge(_ bits: UInt64, _ flags: Challenge.Flags = .signedAccepted, life: UInt8 = 50) {
        put(.challenge(door, Challenge(id: ChallengeID(bits: bits), remainingLife: life, flags: flags).encoded))
    }

    mutating func receipt(
        _ result: LockResult, _ challenge: UInt64, counter: UInt32, handle: AttributeHandle = receiptHandle
    ) {
        let id = ChallengeID(bits: challenge)
        let state = LockState(bolt: .unlocking, door: .closed, result: result, answered: id.prefix)
        put(.receipt(door, lockKey.seal(state, lockCounter: counter, answering: id, handle: handle).encoded))
    }

    mutating func status(
        _ challenge: UInt64?, _ result: LockResult = .accepted, _ phase: CommandPhase = .accepted,
        signCounter: UInt32? = 1
    ) {
        let last = challenge.map {
            LastCommand(challenge: ChallengeID(bits: $0), signCounter: signCounter, result: result, phase: phase)
        }
        let status = KeyStatus(role: 1, rights: Role.owner.rights, lastCommand: last)
        put(
            .controlPoint(
                door,
                ControlPointResponse(request: .keyStatus, result: .success, parameters: status.encoded).encoded))
    }

    /// Without persists.
    var acts: [KeyOutput] { outputs.filter { if case .persist = $0 { false } else { true } } }

    var verdicts: [KeyVerdict] {
        outputs.compactMap { if case .ended(_, _, let verdict) = $0 { verdict } else { nil } }
    }

    var writes: [LockCommand] {
        outputs.compactMap { output in
            switch output {
            case .writeSigned(_, let octets, _), .writeEncrypted(_, let octets, _): try? LockCommand(exactly: octets)
            default: nil
            }
        }
    }

    var known: KnownLock? { store.committed.locks[door] }
}
