import BluetoothCore
import LockJudge
import LockPeripheral
import LockProtocol
import Simulation
import Testing

/// The disk is full, read-only, damaged or gone. The door is secured all the same, and nothing is opened.
@Suite("Securing the door without a disk")
struct UnrecordedSecuringTests {
    private final class Clock {
        var now = Instant(nanoseconds: 50_000_000_000)
    }

    private let clock = Clock()
    private let metal = MetalJournal()

    private func unlock(_ intent: UInt64 = 1, at milliseconds: UInt64 = 0) {
        metal.append(
            ActuatorOrder(intent: IntentID(rawValue: intent), movement: .unlock, command: nil, notAfter: nil),
            now: Instant(nanoseconds: 1_000_000_000).advanced(byMilliseconds: milliseconds))
    }

    private func secure(_ known: LockSnapshot?) throws -> Bool {
        try UnrecordedSecuring.perform(
            known, by: SimulatedBolt(journal: metal), boot: boot,
            surroundings: UnrecordedSecuring.Surroundings(
                now: { [clock] in clock.now }, wait: { [clock] in clock.now = max(clock.now, $0) }, observe: { _ in }))
    }

    private func known(relock: BootDeadline? = nil, intent: Intent? = nil) -> LockSnapshot {
        var snapshot = LockSnapshot.furnished
        snapshot.apply(.bolt(BoltRecord(position: .unlocked, door: .closed)))
        snapshot.apply(.relock(relock))
        snapshot.apply(.intent(intent))
        return snapshot
    }

    private func intent(_ movement: Movement, _ id: UInt64 = 1) -> Intent {
        let origin = CommandOrigin(
            bond: alice, credential: CredentialID(rawValue: 1), challenge: ChallengeID(bits: 5),
            operation: movement == .lock ? .lock : .unlock)
        return Intent(
            id: IntentID(rawValue: id), movement: movement, origin: .command(origin), boot: boot,
            deadline: movement == .lock ? nil : clock.now.advanced(byMilliseconds: 1_000))
    }

    @Test("A relock that is due is made, once; one that is not due waits for the next launch")
    func relock() throws {
        unlock()
        let later = clock.now.advanced(byMilliseconds: 1)
        #expect(try !secure(known(relock: BootDeadline(boot: boot, at: later))))
        #expect(metal.lines.count == 1)
        for _ in 0..<3 {
            _ = try secure(known(relock: BootDeadline(boot: boot, at: clock.now)))
            #expect(metal.lines.map(\.line.movement) == [.unlock, .lock])
        }
    }

    @Test("In another boot a relock is due")
    func otherBoot() throws {
        unlock()
        let later = clock.now.advanced(byMilliseconds: 3_600_000)
        #expect(try secure(known(relock: BootDeadline(boot: BootID(bits: 99), at: later))))
    }

    @Test("A locking that was cut off is made; an opening that was not made is not, though it is in time")
    func intents() throws {
        unlock(7)
        #expect(try !secure(known(intent: intent(.unlock, 8))))
        #expect(metal.lines.count == 1)
        #expect(try secure(known(intent: intent(.lock, 8))))
        #expect(metal.last?.movement == .lock)
    }

    @Test("A lock that cannot read what it owes locks; one that owes nothing leaves the bolt as it is")
    func unknown() throws {
        unlock()
        #expect(try !secure(known()))
        #expect(try secure(nil))
        #expect(try !secure(nil), "it is locked")
    }

    @Test("An opening on its way comes to its end first")
    func onItsWay() throws {
        metal.append(ActuatorOrder(intent(.unlock)), now: clock.now)
        let due = BootDeadline(boot: boot, at: clock.now)
        let began = clock.now
        #expect(try secure(known(relock: due)))
        let lock = try #require(metal.lines.last)
        #expect(lock.line.movement == .lock)
        #expect(lock.line.at.milliseconds(since: began) >= SimulatedBolt.usualTravelMilliseconds)
    }

    /// Takes the order, and comes to rest somewhere else.
    private final class StuckBolt: Actuator {
        var position = BoltPosition.unlocked
        func reading(asking intent: Intent?, now: Instant) -> BoltReading {
            BoltReading(position: position, door: .closed)
        }
        func perform(_ order: ActuatorOrder, now: Instant) -> ActuatorReport? {
            position = .jammed
            return .ended(order.intent, .jammed)
        }
        var deadline: Instant? { nil }
        func poll(now: Instant) -> ActuatorReport? { nil }
    }

    @Test("A bolt that jams is not told as secured")
    func jammed() {
        var told: [LockEvent] = []
        #expect(throws: UnrecordedSecuring.NotLocked(position: .jammed)) {
            try UnrecordedSecuring.perform(
                nil, by: StuckBolt(), boot: boot,
                surroundings: UnrecordedSecuring.Surroundings(
                    now: { [clock] in clock.now }, wait: { _ in }, observe: { told.append($0) }))
        }
        #expect(told.count == 1, "the order, and nothing of its success")
    }

    @Test("A door that stands open is not shut in by its bolt")
    func openDoor() {
        let reading = BoltReading(position: .unlocked, door: .open)
        #expect(!UnrecordedSecuring.isOwed(nil, reading: reading, boot: boot, now: clock.now))
        let shut = BoltReading(position: .unlocked, door: .closed)
        #expect(UnrecordedSecuring.isOwed(nil, reading: shut, boot: boot, now: clock.now))
    }

    private func launch(_ snapshot: LockSnapshot) throws -> [AuditEvent] {
        let reading = try SimulatedBolt(journal: metal).reading(asking: snapshot.intent, now: clock.now)
        return LockBench(snapshot, reading: reading).events
    }

    @Test("The next launch that can write tells of it, and no later one does")
    func told() throws {
        unlock()
        let due = known(relock: BootDeadline(boot: boot, at: clock.now))
        #expect(try secure(due))
        clock.now = clock.now.advanced(byMilliseconds: 60_000)
        #expect(try launch(due) == [.launched, .securedUnrecorded])
        var since = due
        since.apply(.bolt(BoltRecord(position: .locked, door: .closed)))
        #expect(try launch(since) == [.launched])
    }

    @Test("What was opened before the disk failed is told as done, and the securing after it")
    func toldBehindAnOpening() throws {
        let opening = intent(.unlock)
        metal.append(ActuatorOrder(opening), now: clock.now)
        var cut = known(relock: BootDeadline(boot: boot, at: clock.now), intent: opening)
        // The end of the opening was never committed.
        cut.apply(.bolt(BoltRecord(position: .locked, door: .closed)))
        #expect(try secure(cut))
        clock.now = clock.now.advanced(byMilliseconds: 60_000)
        #expect(try launch(cut) == [.launched, .securedUnrecorded, .outcome(of: 1, .done)])
    }

    @Test("Killed while it secured: the next process finds the bolt on its way, and then at its end")
    func killed() throws {
        unlock()
        metal.append(.unrecordedLock, now: clock.now)
        let bolt = SimulatedBolt(journal: metal)
        #expect(try bolt.reading(asking: nil, now: clock.now).moving == ActuatorOrder.unrecordedLock.intent)
        clock.now = clock.now.advanced(byMilliseconds: SimulatedBolt.usualTravelMilliseconds)
        #expect(try bolt.poll(now: clock.now) == .bolt(.locked))
    }
}
