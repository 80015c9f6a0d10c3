import BluetoothCore
import BluetoothCrypto
import LockJudge
import LockPeripheral
import LockProtocol
import Simulation
import StatePersistence

@testable import LockPersistence

/// A lock's processes, one after the other, on one database, metal and clock: each begins as a daemon does, commits before it acts,
/// and ends when the store throws, with the door secured as far as it is owed. Time is virtual.
final class LockOnDisk {
    /// What the metal, the clock and whoever got an answer know at one moment.
    struct Moment {
        var metal: MetalJournal
        var now: Instant
        var boot: BootID
        /// Every record whose commit was acknowledged.
        var audit: [AuditRecord] = []
        /// The credentials that there may be: those behind the last commit that was acknowledged, and those behind each
        /// since then that was not.
        var credentials: [[CredentialID: Credential]]
        /// What each bond was sent.
        var receipts: [UInt64: [Receipt]] = [:]
    }

    static let receiptHandle = AttributeHandle(0x1C)
    /// After a life that ended, as a service manager waits.
    private static let restartMilliseconds: UInt64 = 1_000

    private(set) var moment: Moment
    /// Hears of each moment: before a commit, behind it, and at each change of the metal.
    var onMoment: (Moment) -> Void = { _ in }
    /// What ended the last life.
    private(set) var failure: (any Error)?
    private let path: String
    private var life: Life?
    private var random: UInt64 = 1
    private(set) var challenges: [UInt64: ChallengeID] = [:]
    private var bonds: [UInt64: UInt64] = [:]
    private var nextLink: UInt64 = 1

    private struct Life {
        let database: Database
        let store: SQLiteLockStore
        let bolt: SimulatedBolt
        var machine: LockMachine
    }

    init(_ directory: String, _ moment: Moment) {
        path = directory + "/latch.sqlite"
        self.moment = moment
        moment.metal.onChange = { [unowned self] in tell() }
    }

    private func tell() {
        var copy = moment
        copy.metal = MetalJournal(moment.metal)
        onMoment(copy)
    }

    var isAlive: Bool { life != nil }

    // MARK: Lives

    /// A process begins; false when it ended at once.
    @discardableResult
    func launch() -> Bool {
        guard life == nil else { return true }
        challenges = [:]
        do {
            let database = try Self.open(path)
            let store = SQLiteLockStore(database)
            let bolt = SimulatedBolt(journal: moment.metal)
            let snapshot = try store.launch()
            let reading = try bolt.reading(asking: snapshot.intent, now: moment.now)
            var outputs: [LockOutput] = []
            let machine = LockMachine(
                restoring: snapshot, reading: reading, boot: moment.boot, receiptHandle: Self.receiptHandle,
                at: lockMoment, into: &outputs)
            life = Life(database: database, store: store, bolt: bolt, machine: machine)
            try release(outputs)
        } catch { end(error) }
        return life != nil
    }

    static func open(_ path: String) throws -> Database { try Database(path: path, components: [.lock]) }

    func kill() { life = nil }

    private var lockMoment: LockMoment { LockMoment(now: moment.now, wallClockSeconds: 1_800_000_000) }

    /// As `BoltDuty` of the daemon: by the rules of every launch where the disk may be asked, and without it otherwise.
    private func end(_ error: any Error) {
        failure = error
        life = nil
        if (error as? StoreError)?.isOfDisk != true, (try? settleUnattended()) != nil { return }
        do {
            _ = try UnrecordedSecuring.perform(
                try? SQLiteLockStore.duties(at: path), by: SimulatedBolt(journal: moment.metal), boot: moment.boot,
                surroundings: UnrecordedSecuring.Surroundings(
                    now: { [unowned self] in moment.now }, wait: { [unowned self] in moment.now = max(moment.now, $0) },
                    observe: { _ in }))
        } catch { failure = error }
    }

    private func settleUnattended() throws {
        let database = try Self.open(path)
        try UnattendedBolt.settle(
            store: SQLiteLockStore(database), actuator: SimulatedBolt(journal: moment.metal), boot: moment.boot,
            surroundings: UnattendedBolt.Surroundings(
                moment: { [unowned self] in lockMoment }, commit: { [unowned self] in try commit($0, in: database) },
                wait: { [unowned self] in moment.now = max(moment.now, $0) }, observe: { _ in }))
    }

    // MARK: Inputs

    func put(_ input: LockInput) {
        guard life != nil else { return }
        do { try turn(input) } catch { end(error) }
    }

    private func turn(_ input: LockInput) throws {
        var outputs: [LockOutput] = []
        random &+= 1
        life?.machine.handle(input, at: lockMoment, random: random, into: &outputs)
        try release(outputs)
    }

    /// One iteration's end: everything durable in one commit, then the acts.
    private func release(_ outputs: [LockOutput]) throws {
        guard let (database, store) = life.map({ ($0.database, $0.store) }) else { return }
        for case .persist(let fact) in outputs { store.append(fact) }
        try commit(store, in: database)
        for output in outputs { try act(output) }
    }

    private func commit(_ store: any LockStore, in database: Database) throws {
        guard let store = store as? SQLiteLockStore else { return }
        let facts = store.pending
        let credentials = moment.credentials.map { Self.credentials($0, behind: facts) }
        if credentials != moment.credentials { moment.credentials += credentials }
        tell()
        try database.commit([store])
        for case .audit(let record) in facts { moment.audit.append(record) }
        moment.credentials = credentials
        tell()
    }

    private static func credentials(
        _ credentials: [CredentialID: Credential], behind facts: [LockMutation]
    ) -> [CredentialID: Credential] {
        var credentials = credentials
        for fact in facts {
            switch fact {
            case .credential(let credential): credentials[credential.id] = credential
            case .credentialRemoved(let id): credentials[id] = nil
            default: break
            }
        }
        return credentials
    }

    private func act(_ output: LockOutput) throws {
        switch output {
        case .actuate(let order):
            if let report = try life?.bolt.perform(order, now: moment.now) { try turn(.actuator(report)) }
        case .notifyChallenge(let link, let octets), .challengeValue(let link, let octets):
            challenges[link.rawValue] = try Challenge(exactly: octets).id
        case .notifyReceipt(let link, let octets):
            if let bond = bonds[link.rawValue] {
                moment.receipts[bond, default: []].append(try Receipt(exactly: octets))
            }
        case .disconnect(let link): try turn(.disconnected(link))
        case .persist, .notifyLockState, .indicateControlPoint, .recordAccess, .credentialRemoved, .openWindow,
            .closeWindow, .stateChanged, .alarm, .notifyAlarm:
            break
        }
    }

    func connect(_ bond: UInt64) -> UInt64 {
        let link = nextLink
        nextLink += 1
        bonds[link] = bond
        if let store = life?.store { life?.machine.recall(bond, store.holder(of: bond)) }
        let csrk = Secret([UInt8](repeating: UInt8(truncatingIfNeeded: bond), count: 16))
        put(
            .connected(
                LockLink(rawValue: link), LinkClaim(bond: bond, receiptKey: ReceiptKey(lockCSRK: csrk)),
                subscriptions: [.challenge, .receipt]))
        return link
    }

    func command(_ operation: LockOperation, on link: UInt64, counter: UInt32) {
        guard let challenge = challenges[link] else { return }
        let command = LockCommand(operation: operation, challenge: challenge)
        put(.command(LockLink(rawValue: link), .signed(counter: counter), command.encoded))
    }

    /// What a loop does when it has nothing else to do.
    func checkpoint() {
        do { try life?.database.checkpoint() } catch { end(error) }
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
            let deadlines = [life.machine.deadline, life.bolt.deadline].compactMap { $0 }.filter { $0 <= end }
            guard let next = deadlines.min() else { break }
            moment.now = max(moment.now, next)
            if let report = try? life.bolt.poll(now: moment.now) { put(.actuator(report)) } else { put(.timerFired) }
        }
        moment.now = max(moment.now, end)
    }
}
