import BluetoothCore
import LockJudge
import LockPeripheral
import LockProtocol
import MemoryStores
import Simulation
import Testing

/// A launch that finds no controller.
@Suite("The bolt without a radio")
struct UnattendedBoltTests {
    private final class Clock {
        var now = Instant(nanoseconds: 50_000_000_000)
    }

    private let clock = Clock()
    private let metal = MetalJournal()

    /// A bolt beside which somebody has pressed the button meanwhile.
    private final class PressedBolt: Actuator {
        private let bolt: SimulatedBolt
        private var isPressed = true

        init(_ bolt: SimulatedBolt) { self.bolt = bolt }

        var deadline: Instant? { bolt.deadline }

        func reading(asking intent: Intent?, now: Instant) throws -> BoltReading {
            try bolt.reading(asking: intent, now: now)
        }

        func perform(_ order: ActuatorOrder, now: Instant) throws -> ActuatorReport? {
            try bolt.perform(order, now: now)
        }

        func poll(now: Instant) throws -> ActuatorReport? {
            guard !isPressed else {
                isPressed = false
                return .input(.exit)
            }
            return try bolt.poll(now: now)
        }
    }

    /// How often it committed.
    @discardableResult
    private func settle(
        _ store: MemoryLockStore, boot: BootID = boot, _ actuator: (any Actuator)? = nil
    ) throws -> Int {
        var commits = 0
        try UnattendedBolt.settle(
            store: store, actuator: actuator ?? SimulatedBolt(journal: metal), boot: boot,
            surroundings: UnattendedBolt.Surroundings(
                moment: { [clock] in LockMoment(now: clock.now) },
                commit: { _ in
                    store.didCommit()
                    commits += 1
                }, wait: { [clock] in clock.now = max(clock.now, $0) }, observe: { _ in }))
        return commits
    }

    private func open(_ intent: UInt64 = 1) {
        metal.append(
            ActuatorOrder(intent: IntentID(rawValue: intent), movement: .unlock, command: nil, notAfter: nil),
            now: Instant(nanoseconds: 1_000_000_000))
    }

    private func snapshot(_ relock: BootDeadline?, _ intent: Intent? = nil) -> LockSnapshot {
        var snapshot = LockSnapshot.furnished
        snapshot.apply(.bolt(BoltRecord(position: .unlocked, door: .closed)))
        snapshot.apply(.relock(relock))
        snapshot.apply(.intent(intent))
        return snapshot
    }

    @Test("Unplugged controller: a relock that is due is made, by the clock or because the machine was restarted")
    func relock() throws {
        for deadline in [
            BootDeadline(boot: boot, at: clock.now),
            BootDeadline(boot: BootID(bits: 99), at: clock.now.advanced(byMilliseconds: 3_600_000)),
        ] {
            open()
            let store = MemoryLockStore(snapshot(deadline))
            try settle(store)
            #expect(metal.last?.movement == .lock)
            #expect(store.committed.relock == nil && store.committed.intent == nil)
            #expect(store.committed.bolt.position == .locked)
            let outcomes = store.audit.filter { if case .outcome(_, .done) = $0.event { true } else { false } }
            #expect(outcomes.count == 1)
        }
    }

    @Test("a press of the button that lay there while nobody asked opens nothing")
    func pressedMeanwhile() throws {
        open()
        let store = MemoryLockStore(snapshot(BootDeadline(boot: boot, at: clock.now)))
        try settle(store, PressedBolt(SimulatedBolt(journal: metal)))
        #expect(metal.last?.movement == .lock && store.committed.bolt.position == .locked)
        #expect(store.committed.intent == nil && store.committed.relock == nil)
    }

    @Test("an interrupted locking is completed, a late opening is not and ends locked")
    func intents() throws {
        for movement in [Movement.lock, .unlock] {
            open()
            let intent = Intent(
                id: IntentID(rawValue: 7), movement: movement,
                origin: .command(
                    CommandOrigin(
                        bond: alice, credential: CredentialID(rawValue: 1), challenge: ChallengeID(bits: 5),
                        operation: movement == .lock ? .lock : .unlatch)), boot: boot,
                deadline: movement == .lock ? nil : Instant(nanoseconds: 2_000_000_000))
            let store = MemoryLockStore(snapshot(nil, intent))
            try settle(store)
            #expect(metal.last?.movement == .lock)
            #expect(store.committed.intent == nil)
        }
    }

    @Test("Restart loop: nothing is written while nothing is owed, however often it is asked")
    func nothingOwed() throws {
        open()
        let store = MemoryLockStore(snapshot(BootDeadline(boot: boot, at: clock.now.advanced(byMilliseconds: 1))))
        for _ in 0..<100 { #expect(try settle(store) == 0) }
        #expect(metal.last?.movement == .unlock && store.audit.isEmpty)
        let resting = MemoryLockStore(.furnished)
        #expect(try settle(resting) == 0)
    }

    @Test(
        "Before a daemon is there the order goes out and nobody waits; the lock that begins next tells the end, and one launch"
    )
    func begun() throws {
        open()
        let store = MemoryLockStore(snapshot(BootDeadline(boot: BootID(bits: 99), at: clock.now)))
        let bolt = SimulatedBolt(journal: metal)
        let began = clock.now
        try UnattendedBolt.begin(
            store: store, actuator: bolt, boot: boot,
            surroundings: UnattendedBolt.Surroundings(
                moment: { [clock] in LockMoment(now: clock.now) }, commit: { _ in store.didCommit() },
                wait: { _ in Issue.record("it waits") }, observe: { _ in }))
        #expect(metal.last?.movement == .lock && clock.now == began)
        let intent = try #require(store.committed.intent)
        // As the daemon does next.
        let reading = try bolt.reading(asking: intent, now: clock.now)
        #expect(reading.moving == intent.id)
        var outputs: [LockOutput] = []
        var machine = LockMachine(
            restoring: try store.launch(), reading: reading, boot: boot, receiptHandle: AttributeHandle(1),
            at: LockMoment(now: clock.now), into: &outputs)
        #expect(!outputs.contains { if case .actuate = $0 { true } else { false } }, "once is enough")
        clock.now = clock.now.advanced(byMilliseconds: 60_000)
        let report = try #require(try bolt.poll(now: clock.now))
        machine.handle(.actuator(report), at: LockMoment(now: clock.now), random: 0, into: &outputs)
        for case .persist(let fact) in outputs { store.append(fact) }
        store.didCommit()
        #expect(store.committed.intent == nil && store.committed.relock == nil)
        #expect(store.committed.bolt.position == .locked)
        #expect(store.audit.count { $0.event == .launched } == 1)
        #expect(store.audit.count { if case .outcome(_, .done) = $0.event { true } else { false } } == 1)
    }
    @Test("What is raised before a daemon is there is told behind its commit, and counts with what the daemon raises")
    func alarms() throws {
        open()
        var doubted = snapshot(BootDeadline(boot: BootID(bits: 99), at: clock.now))
        doubted.auditDoubt = .shortened
        doubted.auditTail.wallClockSeconds = 1_800_000_000
        let store = MemoryLockStore(doubted)
        var happenings: [String] = []
        let book = try UnattendedBolt.begin(
            store: store, actuator: SimulatedBolt(journal: metal), boot: boot,
            surroundings: UnattendedBolt.Surroundings(
                moment: { [clock] in LockMoment(now: clock.now) },
                commit: { _ in
                    store.didCommit()
                    happenings.append("commit")
                }, wait: { _ in Issue.record("it waits") },
                observe: { event in
                    if case .alarm(let report, nil) = event { happenings.append("\(report.alarm.kind.rawValue)") }
                }))
        // Tamper, and a clock that is not there any more.
        #expect(happenings == ["commit", "3", "5"] && book.count == 2)
        var outputs: [LockOutput] = []
        let reading = BoltReading(position: .locked, door: .closed)
        var machine = LockMachine(
            restoring: try store.launch(), reading: reading, boot: boot, receiptHandle: receiptHandle, alarms: book,
            at: LockMoment(now: clock.now), into: &outputs)
        #expect(outputs.alarms.isEmpty && machine.alarms.value.contains(.clock))
        machine.handle(.alarm(.tamper(.row)), at: LockMoment(now: clock.now), random: 0, into: &outputs)
        #expect(machine.alarms.counts == [.tamper: 2, .clock: 1])
    }

    @Test(
        "What an earlier program owed is told by a lock without a radio, and taken back as it ends; by one that is about to begin it is not"
    )
    func owedAlarms() throws {
        func play(
            _ play: (any LockStore, any Actuator, UnattendedBolt.Surroundings) throws -> AlarmBook,
            told: @escaping (UInt64) -> UInt64 = { $0 }
        ) throws -> (store: MemoryLockStore, book: AlarmBook, alarms: [AlarmReport]) {
            open()
            var owing = snapshot(BootDeadline(boot: BootID(bits: 99), at: clock.now))
            owing.owedAlarms = [OwedAlarm(.forced(.door), on: 4)]
            let store = MemoryLockStore(owing)
            var alarms: [AlarmReport] = []
            let surroundings = UnattendedBolt.Surroundings(
                moment: { [clock] in LockMoment(now: clock.now) }, commit: { _ in store.didCommit() },
                wait: { [clock] in clock.now = max(clock.now, $0) },
                observe: { if case .alarm(let report, _) = $0 { alarms.append(report) } }, alarmsTold: told)
            let book = try play(store, SimulatedBolt(journal: metal), surroundings)
            return (store, book, alarms)
        }
        func settle(_ store: any LockStore, _ bolt: any Actuator, _ surroundings: UnattendedBolt.Surroundings) throws
            -> AlarmBook
        { try UnattendedBolt.settle(store: store, actuator: bolt, boot: boot, surroundings: surroundings) }
        let late = AlarmReport(.forced(.door), on: 4, isLate: true, number: 1)

        let settled = try play(settle)
        #expect(settled.alarms == [late] && settled.store.committed.owedAlarms == [])
        // A hook that nobody has run yet has told nobody.
        let waiting = try play(settle, told: { _ in 0 })
        #expect(waiting.alarms == [late] && waiting.store.committed.owedAlarms.count == 1)
        let begun = try play { store, bolt, surroundings in
            try UnattendedBolt.begin(store: store, actuator: bolt, boot: boot, surroundings: surroundings)
        }
        #expect(begun.alarms == [] && begun.store.committed.owedAlarms.count == 1)

        // The lock that begins behind it in the same program.
        for (before, expected) in [(settled, []), (waiting, []), (begun, [late])] as [(_, [AlarmReport])] {
            var outputs: [LockOutput] = []
            _ = LockMachine(
                restoring: try before.store.launch(), reading: BoltReading(position: .locked, door: .closed),
                boot: boot, receiptHandle: receiptHandle, alarms: before.book, at: LockMoment(now: clock.now),
                into: &outputs)
            #expect(outputs.alarms == expected)
        }
    }
}
