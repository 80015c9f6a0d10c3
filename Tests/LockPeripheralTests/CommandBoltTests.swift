import BluetoothCore
import LockPeripheral
import LockProtocol
import Simulation
import Testing

@Suite("A bolt that is a command: at most once")
struct CommandBoltTests {
    /// Runs nothing, and remembers what it was to run.
    private final class Runner: CommandRunner {
        var started: [CommandWord] = []
        var next: CommandEnd?
        var reads: CommandEnd? = .exited(20)
        var refusal: String?
        var isFree = true
        let descriptor: Int32 = -1

        func start(_ word: CommandWord, for intent: IntentID?) throws(CommandNotStarted) {
            if let refusal { throw CommandNotStarted(reason: refusal) }
            started.append(word)
        }
        func kill() { next = .signalled(9) }
        func end() -> CommandEnd? {
            defer { next = nil }
            return next
        }
        func answer(_ word: CommandWord, milliseconds: UInt64) throws(CommandNotStarted) -> CommandEnd? {
            if let refusal { throw CommandNotStarted(reason: refusal) }
            return reads
        }
        func awaitEarlier(milliseconds: UInt64) -> Bool { isFree }
    }

    private struct Full: Error {}

    /// A journal on a disk that takes nothing, or takes its time.
    private final class FailingJournal: MovementJournal {
        var isFull = true
        var onSettle: () -> Void = {}
        private let metal = MetalJournal()

        var last: BoltJournal.Line? { metal.last }
        var lastIntended: BoltJournal.Line? { metal.lastIntended }
        var isLastKnown: Bool { true }
        var isLastIntendedKnown: Bool { true }
        func append(_ order: ActuatorOrder, now: Instant) throws {
            if isFull { throw Full() }
            metal.append(order, now: now)
        }
        func settle() throws {
            if isFull { throw Full() }
            onSettle()
        }
    }

    private final class Clock { var now = Instant(nanoseconds: 1_000) }

    private let runner = Runner()
    private let metal = MetalJournal()
    private let clock = Clock()

    private func bolt(_ journal: (any MovementJournal)? = nil, tell: @escaping (String) -> Void = { _ in })
        -> CommandBolt
    {
        CommandBolt(
            journal: journal ?? metal, runner: runner,
            limits: CommandMachine.Limits(timeMilliseconds: 1_000, retries: 0, pauseMilliseconds: 0),
            bootTime: { [clock] in clock.now }, tell: tell)
    }

    @Test("An opening that a killed daemon had begun is not begun again: it counts as perhaps made")
    func restarted() throws {
        let asked = intent(.unlock, .unlock)
        #expect(try bolt().perform(ActuatorOrder(asked), now: clock.now) == nil)
        #expect(runner.started == [.unlock])
        // The next process.
        let next = bolt()
        let reading = try next.reading(asking: asked, now: clock.now)
        #expect(reading == BoltReading(position: .locked, mayHaveBegun: true))
        #expect(LaunchRules.settle(asked, reading: reading, boot: boot, now: clock.now) == .ended(.unknown))
        #expect(try next.perform(ActuatorOrder(asked), now: clock.now) == .ended(asked.id, .unknown))
        #expect(runner.started == [.unlock])
    }

    @Test("An opening that was not begun is begun by the next launch, in its time")
    func notBegun() throws {
        let asked = intent(.unlock, .unlock)
        let reading = try bolt().reading(asking: asked, now: clock.now)
        #expect(reading == BoltReading(position: .locked, performed: false))
        #expect(LaunchRules.settle(asked, reading: reading, boot: boot, now: clock.now) == .driven)
    }

    @Test("A lock that may have been made is made again, unless the bolt is found locked")
    func lockAgain() throws {
        let asked = intent(.lock, .lock)
        _ = try bolt().perform(ActuatorOrder(asked), now: clock.now)
        for (status, expected) in [(Int32(20), LaunchRules.Settlement.ended(.done)), (21, .driven), (12, .driven)] {
            runner.reads = .exited(status)
            let reading = try bolt().reading(asking: asked, now: clock.now)
            #expect(LaunchRules.settle(asked, reading: reading, boot: boot, now: clock.now) == expected)
        }
        _ = try bolt().perform(ActuatorOrder(asked), now: clock.now)
        #expect(runner.started == [.lock, .lock])
    }

    @Test("A full disk keeps the command from opening, and not from locking")
    func fullDisk() throws {
        let bolt = bolt(FailingJournal())
        #expect(throws: Full.self) { try bolt.perform(ActuatorOrder(intent(.unlock, .unlock)), now: clock.now) }
        #expect(try bolt.perform(ActuatorOrder(intent(.lock, .lock)), now: clock.now) == nil)
        #expect(runner.started == [.lock])
    }

    @Test("An opening whose flush takes longer than its time is not begun")
    func slowDisk() throws {
        let journal = FailingJournal()
        journal.isFull = false
        journal.onSettle = { [clock] in clock.now = Instant(nanoseconds: 2_001) }
        let asked = intent(.unlock, .unlock)
        #expect(try bolt(journal).perform(ActuatorOrder(asked), now: clock.now) == .declined(asked.id))
        #expect(runner.started.isEmpty)
    }

    @Test("A command that cannot be started declines, and says why; one that ends by itself is reported once")
    func reports() throws {
        var told: [String] = []
        runner.refusal = "it cannot be started: No such file or directory"
        let bolt = bolt { told.append($0) }
        let lock = intent(.lock, .lock)
        #expect(try bolt.perform(ActuatorOrder(lock), now: clock.now) == .declined(lock.id))
        #expect(told == ["it cannot be started: No such file or directory"])
        runner.refusal = nil
        #expect(try bolt.perform(ActuatorOrder(lock), now: clock.now) == nil)
        #expect(try bolt.poll(now: clock.now) == nil)
        #expect(try bolt.reading(asking: lock, now: clock.now).moving == lock.id)
        runner.next = .exited(0)
        #expect(try bolt.poll(now: clock.now) == .ended(lock.id, .locked))
        #expect(try bolt.poll(now: clock.now) == nil)
    }

    @Test("A position that cannot be read is unknown, and why is said")
    func readings() throws {
        for (end, position, said) in [
            (CommandEnd?.some(.exited(21)), BoltPosition.unlocked, nil as String?), (.exited(10), .jammed, nil),
            (.exited(0), .unknown, "`read`: it ended with status 0, which says nothing of the bolt"),
            (.signalled(6), .unknown, "`read`: it was ended by signal 6"),
            (nil, .unknown, "`read` did not end in 1000 ms, and was killed"),
        ] {
            var told: [String] = []
            runner.reads = end
            #expect(try bolt { told.append($0) }.reading(asking: nil, now: clock.now).position == position)
            #expect(told == [said].compactMap { $0 })
        }
        var told: [String] = []
        runner.isFree = false
        #expect(try bolt { told.append($0) }.reading(asking: nil, now: clock.now).position == .unknown)
        #expect(told == ["an earlier process of it does not end"])
    }
}
