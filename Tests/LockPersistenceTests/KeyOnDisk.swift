import BluetoothCore
import BluetoothCrypto
import LockCentral
import LockProtocol
import StatePersistence

@testable import LockPersistence

/// A key's processes, one after the other, on one database and clock: each commits before it acts, and ends when the store throws.
/// Whoever drives it plays the lock. Time is virtual.
final class KeyOnDisk {
    /// What the clock, the user and the air know at one moment.
    struct Moment {
        var now = Instant(nanoseconds: 5_000_000_000)
        var boot = BootID(bits: 1)
        /// What the user was told, in order.
        var taken: [KeyRequestID] = []
        var ended: [KeyRequestID: [KeyVerdict]] = [:]
        /// Whose end was committed, as far as anybody knows, or not: the commit failed.
        var doubtful: Set<KeyRequestID> = []
        /// The commands that left.
        var commands: [LockCommand] = []
        /// The locks behind the last commit that was acknowledged, and those behind each since then that was not.
        var locks: [Set<PeerIdentifier>] = [[]]
    }

    static let door = PeerIdentifier(bits: 42)
    static let receiptHandle = AttributeHandle(0x1C)
    private static let receiptKey = ReceiptKey(lockCSRK: Secret([UInt8](repeating: 9, count: 16)))
    /// After a life that ended, as a service manager waits.
    private static let restartMilliseconds: UInt64 = 1_000

    private(set) var moment: Moment
    /// Hears of each moment: before a commit and behind it.
    var onMoment: (Moment) -> Void = { _ in }
    private(set) var failure: (any Error)?
    private let path: String
    private var life: (database: Database, store: SQLiteKeyStore, machine: KeyMachine)?
    private var lockCounter: UInt32 = 0

    init(_ directory: String, _ moment: Moment = Moment()) {
        path = directory + "/latch.sqlite"
        self.moment = moment
    }

    var isAlive: Bool { life != nil }

    static func open(_ path: String) throws -> Database { try Database(path: path, components: [.key]) }

    func launch() {
        guard life == nil else { return }
        do {
            let database = try Self.open(path)
            let store = SQLiteKeyStore(database)
            var outputs: [KeyOutput] = []
            let machine = KeyMachine(
                restoring: try store.load(), boot: moment.boot, now: moment.now, into: &outputs)
            life = (database, store, machine)
            try release(outputs)
        } catch { end(error) }
    }

    func kill() { life = nil }

    private func end(_ error: any Error) {
        failure = error
        life = nil
    }

    func put(_ input: KeyInput) {
        guard life != nil else { return }
        var outputs: [KeyOutput] = []
        life?.machine.handle(input, now: moment.now, random: 1, into: &outputs)
        do { try release(outputs) } catch { end(error) }
    }

    /// One iteration's end: everything durable in one commit, then the acts.
    private func release(_ outputs: [KeyOutput]) throws {
        guard let life else { return }
        let facts = outputs.compactMap { if case .persist(let fact) = $0 { fact } else { nil } }
        let ends = outputs.compactMap { if case .ended(_, let id, _) = $0 { id } else { nil } }
        for fact in facts { life.store.append(fact) }
        let locks = moment.locks.map { Self.locks($0, behind: facts) }
        if locks != moment.locks { moment.locks += locks }
        moment.doubtful.formUnion(ends)
        onMoment(moment)
        try life.database.commit([life.store])
        moment.locks = locks
        moment.doubtful.subtract(ends)
        for output in outputs { act(output) }
        onMoment(moment)
    }

    private static func locks(_ locks: Set<PeerIdentifier>, behind facts: [KeyMutation]) -> Set<PeerIdentifier> {
        var locks = locks
        for fact in facts {
            switch fact {
            case .lock(let record): locks.insert(record.peer)
            case .lockForgotten(let peer): locks.remove(peer)
            default: break
            }
        }
        return locks
    }

    private func act(_ output: KeyOutput) {
        switch output {
        case .took(_, let id): moment.taken.append(id)
        case .ended(_, let id, let verdict): moment.ended[id, default: []].append(verdict)
        case .writeSigned(_, let octets, _), .writeEncrypted(_, let octets, _):
            if let command = try? LockCommand(exactly: octets) { moment.commands.append(command) }
        default: break
        }
    }

    // MARK: The lock's part

    func connect() {
        put(.connected(Self.door, SignedPath(receiptKey: Self.receiptKey, receiptHandle: Self.receiptHandle)))
    }

    func challenge(_ bits: UInt64) {
        put(
            .challenge(
                Self.door, Challenge(id: ChallengeID(bits: bits), remainingLife: 50, flags: .signedAccepted).encoded))
    }

    func receipt(_ result: LockResult, _ challenge: UInt64, counter: UInt32) {
        let id = ChallengeID(bits: challenge)
        let state = LockState(bolt: .unlocking, door: .closed, result: result, answered: id.prefix)
        let receipt = Self.receiptKey.seal(state, lockCounter: counter, answering: id, handle: Self.receiptHandle)
        put(.receipt(Self.door, receipt.encoded))
    }

    /// Key Status, with what became of the last command that has left.
    func status() {
        let last = moment.commands.last.map {
            LastCommand(challenge: $0.challenge, signCounter: 1, result: .done, phase: .done)
        }
        let status = KeyStatus(role: 1, rights: Role.owner.rights, lastCommand: last)
        put(
            .controlPoint(
                Self.door,
                ControlPointResponse(request: .keyStatus, result: .success, parameters: status.encoded).encoded))
    }

    /// Time passes. A process that has ended is followed by another.
    func run(milliseconds: UInt64, restarts: Bool = true) {
        let end = moment.now.advanced(byMilliseconds: milliseconds)
        while moment.now < end {
            guard let life else {
                guard restarts else { break }
                moment.now = moment.now.advanced(byMilliseconds: Self.restartMilliseconds)
                launch()
                continue
            }
            guard let next = life.machine.deadline, next <= end else { break }
            moment.now = max(moment.now, next)
            put(.timerFired)
        }
        moment.now = max(moment.now, end)
    }
}
