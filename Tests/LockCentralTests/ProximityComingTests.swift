import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockCentral

/// What an absence is worth, and for how long: the watch that has seen it has to see the return.
@Suite("Coming near: an absence and the return are seen by one unbroken watch")
struct ProximityComingTests {
    /// Of time in which the key was stopped: no input, and no timer.
    private func sleep(_ walk: Walk, milliseconds: UInt64) {
        walk.bench.now = walk.bench.now.advanced(byMilliseconds: milliseconds)
    }

    /// A key of the same disk, so much later.
    private func relaunch(_ walk: Walk, boot: BootID = boot, afterMilliseconds: UInt64) -> Walk {
        Walk(walk.bench.store.committed, boot: boot, now: walk.bench.now.advanced(byMilliseconds: afterMilliseconds))
    }

    @Test("Asleep from the edge of the range to the door: the key has not seen itself come")
    func asleep() {
        for first in [KeyInput.rssi(door, -50), .timerFired] {
            let walk = Walk()
            walk.goAway()
            sleep(walk, milliseconds: 3_600_000)
            walk.bench.put(first)
            #expect(walk.proximity == .near)
            _ = walk.comeNear()
            #expect(walk.operation == nil)
            walk.leaveLink()
            walk.goAway()
            _ = walk.comeNear()
            #expect(walk.operation == .unlock, "an absence that is shown anew counts")
        }
    }

    @Test("As long as a gap may be the watch is one; a millisecond more, and it is not")
    func gap() {
        for (more, kept) in [(0, Proximity.away), (1, .near)] as [(UInt64, Proximity)] {
            let walk = Walk()
            walk.goAway()
            walk.bench.put(.timerFired)
            sleep(walk, milliseconds: AbsenceWatch.gapMaximumMilliseconds + more)
            walk.bench.put(.timerFired)
            #expect(walk.proximity == kept)
        }
    }

    @Test("Asleep while a link is measured on: nothing comes of it but its end")
    func asleepWhileMeasuring() {
        let walk = Walk()
        walk.goAway()
        _ = walk.wake(-50)
        walk.link()
        _ = walk.measure(-50, milliseconds: 500)
        sleep(walk, milliseconds: 3_600_000)
        walk.bench.put(.linkRSSI(door, -50))
        let outputs = walk.bench.run(milliseconds: 100)
        #expect(outputs.contains(.disconnect(door)) && walk.operation == nil && walk.proximity == .near)
    }

    @Test("Away for a day, awake: the owner is expected, and a minute is the most that the disk is behind")
    func awake() throws {
        let walk = Walk()
        walk.goAway()
        walk.bench.run(milliseconds: 24 * 3_600_000)
        #expect(walk.proximity == .away)
        let kept = try #require(walk.bench.known?.watched?.until)
        #expect(walk.bench.now.milliseconds(since: kept) <= AbsenceWatch.keepingMilliseconds)
        _ = walk.comeNear()
        #expect(walk.operation == .unlock)
    }

    @Test("Killed while away: an absence counts in the same boot and soon, and not a millisecond later")
    func relaunched() throws {
        for (boot, more, kept) in [
            (boot, 0, Proximity.away), (boot, 1, .near), (BootID(bits: 2), 0, .near),
        ] as [(BootID, UInt64, Proximity)] {
            let walk = Walk()
            walk.goAway()
            let until = try #require(walk.bench.known?.watched?.until)
            let downtime = AbsenceWatch.relaunchMaximumMilliseconds - walk.bench.now.milliseconds(since: until) + more
            let again = relaunch(walk, boot: boot, afterMilliseconds: downtime)
            #expect(again.proximity == kept)
            _ = again.comeNear()
            #expect((again.operation == .unlock) == (kept == .away))
        }
    }

    @Test("Killed while away for long: the absence is shown anew at the edge, and the door opens")
    func relaunchedLate() {
        let walk = Walk()
        walk.goAway()
        let again = relaunch(walk, afterMilliseconds: 8 * 3_600_000)
        let woken = again.bench.run(milliseconds: ProximityMachine.silenceMilliseconds)
        #expect(woken.contains(.connect(door)), "silence makes it look as soon as the lock is met")
        again.link()
        _ = again.measure(-85)
        #expect(again.proximity == .away && again.operation == nil, "nobody has left")
        again.bench.put(.disconnected(door))
        again.bench.run(milliseconds: ProximityMachine.restMinimumMilliseconds)
        _ = again.comeNear()
        #expect(again.operation == .unlock)
    }

    @Test("The radio was off for longer than a gap may be: what happened meanwhile nobody has seen")
    func radioOff() {
        for (more, kept) in [(0, Proximity.away), (1, .near)] as [(UInt64, Proximity)] {
            let walk = Walk()
            walk.goAway()
            walk.bench.put(.radio(isOn: false))
            walk.bench.run(milliseconds: AbsenceWatch.gapMaximumMilliseconds + more)
            #expect(walk.proximity == kept)
            walk.bench.put(.radio(isOn: true))
            walk.bench.run(milliseconds: AbsenceWatch.gapMaximumMilliseconds)
            _ = walk.comeNear()
            #expect((walk.operation == .unlock) == (kept == .away))
        }
    }

    @Test("Launched without a radio: what the disk has of an absence does not outlast the wait for it")
    func launchedDeaf() {
        let walk = Walk()
        walk.goAway()
        let again = relaunch(walk, afterMilliseconds: 1_000)
        again.bench.put(.radio(isOn: false))
        again.bench.run(milliseconds: 3_600_000)
        #expect(again.proximity == .near)
    }

    @Test(
        "A user's own command that the lock has answered: its owner stands there, and the door is left as he wants it")
    func ownCommand() {
        for operation in [LockOperation.lock, .unlock] {
            for result in [LockResult.accepted, .done, .notPermitted] {
                let walk = Walk()
                walk.goAway()
                walk.bench.ask(operation)
                walk.bench.connect()
                walk.bench.challenge(5)
                #expect(walk.proximity == .away, "nobody has answered")
                walk.bench.receipt(result, 5, counter: 1)
                #expect(walk.proximity == .near)
                walk.bench.receipt(.done, 5, counter: 2)
                walk.bench.put(.disconnected(door))
                _ = walk.comeNear()
                #expect(walk.operation == nil, "\(operation) \(result)")
            }
        }
    }

    @Test("The answer that was eaten: what may have taken effect counts as the lock's word")
    func ownCommandUnknown() {
        let walk = Walk()
        walk.goAway()
        walk.bench.ask(.lock, lifeMilliseconds: 5_000)
        walk.bench.connect()
        walk.bench.challenge(5)
        walk.bench.put(.disconnected(door))
        walk.bench.run(milliseconds: 5_000 + KeyMachine.settleMilliseconds)
        #expect(walk.proximity == .near && walk.bench.known?.request == nil)
    }

    @Test("What an earlier life of the key sent, and hears of when its time is over, shows nobody at the door")
    func formerCommand() {
        let walk = Walk()
        walk.goAway()
        walk.bench.ask(.lock, lifeMilliseconds: 1_000)
        walk.bench.connect()
        walk.bench.challenge(5)
        let again = relaunch(walk, afterMilliseconds: 1_001 + KeyMachine.settleMilliseconds)
        again.bench.connect()
        again.bench.put(.encrypted(door))
        again.bench.status(5, .done, .done)
        #expect(again.bench.verdicts == [.done] && again.proximity == .away)
    }

    @Test(
        "Played, and silent for as long as forgives everything, without end: an hour has so many links, and no more",
        arguments: [Proximity.away, .near])
    func budget(proximity: Proximity) {
        let walk = Walk()
        if proximity == .away { walk.goAway() }
        var made: [Instant] = []
        let end = walk.bench.now.advanced(byMilliseconds: 3 * 3_600_000)
        while walk.bench.now < end {
            // Strong while the key is away, silent while it is near.
            if proximity == .away {
                while !walk.wake() {}
            } else {
                while !walk.bench.run(milliseconds: 100).contains(.connect(door)) {}
            }
            made.append(walk.bench.now)
            walk.link()
            _ = walk.measure(proximity == .away ? -95 : -50)
            walk.bench.put(.disconnected(door))
            if proximity == .away { walk.bench.run(milliseconds: ProximityMachine.silenceMilliseconds) }
            if proximity == .near { walk.bench.put(.rssi(door, -50)) }
        }
        let hours = made.enumerated().map { index, first in
            made[index...].prefix { $0.milliseconds(since: first) < 3_600_000 }.count
        }
        let most = hours.max() ?? 0
        #expect((50...MeasurementBudget.linksPerHourMaximum).contains(most))
        // Until the budget is spent nothing is different: 20 s of silence, and a second or two of a link.
        let first = made.prefix(MeasurementBudget.burstMaximum)
        #expect(zip(first, first.dropFirst()).allSatisfy { $1.milliseconds(since: $0) < 25_000 })
        let last = made.suffix(10)
        #expect(
            zip(last, last.dropFirst()).allSatisfy {
                $1.milliseconds(since: $0) <= MeasurementBudget.refillMilliseconds + 1_000
            }, "and whoever comes is looked at soon")
    }
}
