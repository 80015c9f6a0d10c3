import BluetoothCore
import LockJudge
import LockPeripheral
import LockProtocol
import MemoryStores
import Simulation

/// A lock's whole machine: process, disk, metal and clock. The process can be killed before any output, and the machine
/// can lose its power with it.
final class LockWorld {
    struct Killed: Error {}

    static let travelMilliseconds: UInt64 = 500

    let store = MemoryLockStore(.furnished)
    let metal = MetalJournal()
    var now = Instant(nanoseconds: 5_000_000_000)
    var boot = BootID(bits: 1)
    private var machine: LockMachine?
    private var bolt: SimulatedBolt
    private var random: UInt64 = 1

    /// Outputs until the kill; nil: it lives.
    var outputsToLive: Int?
    private(set) var kills = 0
    private(set) var outputCount = 0

    /// What the radio carried: link, its last challenge, and every receipt's bond and counter.
    private(set) var challenges: [UInt64: ChallengeID] = [:]
    private(set) var receipts: [Receipt] = []
    private var nextLink: UInt64 = 1
    /// What somebody heard, of whichever process.
    private(set) var told: [AlarmReport] = []
    /// Of the present process.
    private var toldThrough: UInt64 = 0

    init() { bolt = SimulatedBolt(journal: metal, travelMilliseconds: Self.travelMilliseconds) }

    /// The process begins, and is killed as often as the schedule says until it gets through its launch.
    func launch() {
        while machine == nil {
            bolt = SimulatedBolt(journal: metal, travelMilliseconds: Self.travelMilliseconds)
            challenges = [:]
            toldThrough = 0
            do {
                let snapshot = try store.load()
                let reading = try bolt.reading(asking: snapshot.intent, now: now)
                var outputs: [LockOutput] = []
                machine = LockMachine(
                    restoring: snapshot, reading: reading, boot: boot, receiptHandle: receiptHandle,
                    at: LockMoment(now: now, wallClockSeconds: 1), into: &outputs)
                try release(outputs)
            } catch { die() }
        }
    }

    func put(_ input: LockInput) {
        launch()
        do { try turn(input) } catch { die() }
    }

    private func turn(_ input: LockInput) throws {
        var outputs: [LockOutput] = []
        random &+= 1
        machine?.alarmsTold(through: toldThrough)
        machine?.handle(input, at: LockMoment(now: now, wallClockSeconds: 1), random: random, into: &outputs)
        try release(outputs)
    }

    /// One iteration's end: everything durable in one commit, then the acts, with a chance to die before each.
    private func release(_ outputs: [LockOutput]) throws {
        for case .persist(let fact) in outputs {
            store.append(fact)
            try survive()
        }
        store.didCommit()
        for output in outputs {
            if case .persist = output { continue }
            try survive()
            try act(output)
        }
    }

    private func survive() throws {
        outputCount += 1
        guard let left = outputsToLive else { return }
        if left == 0 { throw Killed() }
        outputsToLive = left - 1
    }

    private func act(_ output: LockOutput) throws {
        switch output {
        case .actuate(let order):
            let report = try bolt.perform(order, now: now)
            try survive()
            if let report { try turn(.actuator(report)) }
        case .notifyChallenge(let link, let octets), .challengeValue(let link, let octets):
            challenges[link.rawValue] = try Challenge(exactly: octets).id
        case .notifyReceipt(_, let octets): receipts.append(try Receipt(exactly: octets))
        case .disconnect(let link): try turn(.disconnected(link))
        case .alarm(let report):
            told.append(report)
            toldThrough = report.number
        case .persist, .notifyLockState, .indicateControlPoint, .recordAccess, .credentialRemoved, .openWindow,
            .closeWindow, .stateChanged, .notifyAlarm:
            break
        }
    }

    private func die() {
        kills += 1
        outputsToLive = nil
        store.losePending()
        machine = nil
    }

    func kill() {
        die()
    }

    /// Boot time starts over: nothing that was written in the other boot may be compared with it.
    func losePower() {
        die()
        boot = BootID(bits: boot.bits + 1)
        metal.losePower(withWhatMoved: boot.bits.isMultiple(of: 2))
        metal.boot = boot
        now = Instant(nanoseconds: 1_000_000_000)
    }

    func run(milliseconds: UInt64) {
        let end = now.advanced(byMilliseconds: milliseconds)
        let from = boot
        launch()
        while boot == from {
            let deadlines = [machine?.deadline, bolt.deadline].compactMap { $0 }.filter { $0 <= end }
            guard let next = deadlines.min() else { break }
            now = max(now, next)
            if let report = try? bolt.poll(now: now) { put(.actuator(report)) } else { put(.timerFired) }
            launch()
        }
        now = max(now, end)
    }

    /// Time without a process: a movement under way goes on, deadlines pass.
    func sleep(milliseconds: UInt64) {
        die()
        now = now.advanced(byMilliseconds: milliseconds)
    }

    @discardableResult
    func connect(_ bond: UInt64 = alice, encrypted: Bool) -> UInt64 {
        let link = nextLink
        nextLink += 1
        put(.connected(LockLink(rawValue: link), claim(bond), subscriptions: [.challenge, .receipt]))
        if encrypted { put(.encrypted(LockLink(rawValue: link), claim(bond))) }
        return link
    }
}
