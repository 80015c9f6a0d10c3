import BluetoothCore
import StrikeControl
import TestSupport
import Testing

@Suite("The keeper of a strike: its machine")
struct StrikeMachineTests {
    private typealias Bench = StrikeBench

    @Test("A pulse is as long as is asked, its timer is armed before the line is set, and its end needs nobody")
    func pulse() {
        let bench = Bench()
        #expect(bench.at(10, Bench.order(7, .unlock)) == [.release, .ended(7, .unlocked)])
        #expect(bench.armedAtSet == [3_010] && bench.machine.status.position == .unlocked)
        #expect(bench.handle(.daemon(isThere: false)).isEmpty && bench.deadline == 3_010)
        #expect(bench.at(3_009).isEmpty && bench.isReleased)
        #expect(bench.at(3_010) == [.rest] && !bench.isReleased)
        #expect(bench.machine.status.position == .locked && bench.deadline == nil)
    }

    @Test("No pulse is longer than the keeper's own configuration, whatever is asked, and none has no length")
    func pulseMaximum() {
        let bench = Bench(StrikeRules(pulseMaximumMilliseconds: 500))
        bench.handle(Bench.order(1, .unlatch, pulse: .max))
        #expect(bench.deadline == 500)
        bench.at(500)
        #expect(!bench.isReleased)
        #expect(bench.at(600, Bench.order(2, .unlock, pulse: 0)) == [.ended(2, .declined)])
    }

    @Test("An opening is made once for its name, however often it is ordered")
    func once() {
        let bench = Bench()
        #expect(bench.handle(Bench.order(7, .unlock)) == [.release, .ended(7, .unlocked)])
        #expect(bench.handle(Bench.order(7, .unlock)) == [.ended(7, .unknown)])
        bench.at(3_000)
        for _ in 0..<3 { #expect(bench.handle(Bench.order(7, .unlock)) == [.ended(7, .unknown)]) }
        #expect(!bench.isReleased)
        // A lock may be made as often as it is wanted.
        for _ in 0..<2 { #expect(bench.handle(Bench.order(8, .lock)) == [.rest, .ended(8, .locked)]) }
    }

    @Test("A name that comes with another time is another opening: a restored database counts anew")
    func restored() {
        let bench = Bench()
        bench.handle(Bench.order(7, .unlock, notAfter: 2_000))
        bench.at(4_000)
        #expect(bench.at(4_000, Bench.order(7, .unlock, notAfter: 2_000)) == [.ended(7, .unknown)])
        #expect(bench.at(5_000, Bench.order(7, .unlock, notAfter: 7_000)) == [.release, .ended(7, .unlocked)])
    }

    @Test("An opening that was declined has not moved, and may be ordered again in its time")
    func declined() {
        let bench = Bench()
        bench.handle(.chipGone)
        #expect(bench.handle(Bench.order(7, .unlock, notAfter: 2_000)) == [.ended(7, .declined)])
        bench.handle(.chip(StrikeInputs()))
        #expect(bench.handle(Bench.order(7, .unlock, notAfter: 2_000)) == [.release, .ended(7, .unlocked)])
        #expect(bench.handle(Bench.order(7, .unlock, notAfter: 2_000)) == [.ended(7, .unknown)])
    }

    @Test("The last openings are remembered, and no more")
    func answeredMaximum() {
        let bench = Bench()
        let count = UInt64(StrikeMachine.answeredMaximum)
        for name in 1...count + 1 { bench.at(name * 4_000, Bench.order(name, .unlock)) }
        for name in 2...count + 1 { #expect(bench.handle(Bench.order(name, .unlock)) == [.ended(name, .unknown)]) }
        #expect(bench.handle(Bench.order(1, .unlock)) == [.release, .ended(1, .unlocked)])
    }

    @Test("An opening that comes behind its time does not begin; one that comes with it does")
    func late() {
        let bench = Bench()
        #expect(bench.at(101, Bench.order(1, .unlock, notAfter: 100)) == [.ended(1, .declined)])
        #expect(!bench.isReleased)
        #expect(bench.at(102, Bench.order(2, .unlock, notAfter: 102)) == [.release, .ended(2, .unlocked)])
    }

    @Test("A line that releases is no locked door, whatever the sensor says: where the bolt is nobody knows then")
    func releasedAndSensedLocked() {
        let bench = Bench(StrikeRules(drive: .hold, feedback: Bench.feedback), isLocked: true)
        bench.handle(Bench.order(1, .unlock))
        #expect(bench.handle(.inputs(StrikeInputs(isLocked: false))) == [.ended(1, .unlocked)])
        #expect(bench.machine.status.position == .unlocked)
        bench.handle(.inputs(StrikeInputs(isLocked: true)))
        #expect(bench.isReleased && bench.machine.status.position == .unknown)
        #expect(bench.handle(Bench.order(2, .lock)) == [.rest, .ended(2, .locked)])
        #expect(bench.machine.status.position == .locked)
    }

    @Test("A hold lasts until a lock, and an order to pull the latch does not end it")
    func hold() {
        let bench = Bench(StrikeRules(drive: .hold))
        #expect(bench.handle(Bench.order(1, .unlock)) == [.release, .ended(1, .unlocked)])
        #expect(bench.deadline == nil)
        #expect(bench.at(50_000, Bench.order(2, .unlatch)) == [.release, .ended(2, .unlocked)])
        #expect(bench.deadline == nil)
        #expect(bench.at(60_000, Bench.order(3, .lock)) == [.rest, .ended(3, .locked)])
        #expect(bench.at(70_000, Bench.order(4, .unlatch, pulse: 700)) == [.release, .ended(4, .unlocked)])
        #expect(bench.deadline == 70_700)
        // What comes then is meant to last.
        #expect(bench.at(70_100, Bench.order(5, .unlock)) == [.release, .ended(5, .unlocked)])
        #expect(bench.deadline == nil)
    }

    @Test("A held door waits for its daemon to come back, and is locked if it does not")
    func orphaned() {
        let bench = Bench(StrikeRules(drive: .hold, orphanMilliseconds: 5_000))
        bench.handle(Bench.order(1, .unlock))
        #expect(bench.at(100, .daemon(isThere: false)).isEmpty && bench.deadline == 5_100)
        #expect(bench.at(5_099, .daemon(isThere: true)).isEmpty && bench.deadline == nil && bench.isReleased)
        bench.at(6_000, .daemon(isThere: false))
        #expect(bench.at(11_000) == [.rest])
        // A daemon that is dead by the time its order is carried out is gone as well.
        let late = Bench(StrikeRules(drive: .hold, feedback: Bench.feedback, orphanMilliseconds: 5_000), isLocked: true)
        late.handle(Bench.order(1, .unlock))
        late.at(10, .daemon(isThere: false))
        #expect(late.at(20, .inputs(StrikeInputs(isLocked: false))) == [.ended(1, .unlocked)] && late.deadline == 5_020)
    }

    @Test("A daemon that is gone is not gone once more: a held door's time does not begin anew")
    func goneTwice() {
        let bench = Bench(StrikeRules(drive: .hold, orphanMilliseconds: 5_000))
        bench.handle(Bench.order(1, .unlock))
        bench.at(100, .daemon(isThere: false))
        for now in stride(from: UInt64(200), through: 5_000, by: 400) { bench.at(now, .daemon(isThere: false)) }
        #expect(bench.deadline == 5_100)
        #expect(bench.at(5_100) == [.rest] && !bench.isReleased)
    }

    @Test("A door that is open without power is left open when its daemon has gone")
    func orphanedSafe() {
        let bench = Bench(StrikeRules(drive: .hold, failure: .safe, orphanMilliseconds: 0))
        bench.handle(Bench.order(1, .unlock))
        #expect(bench.at(100, .daemon(isThere: false)).isEmpty && bench.deadline == nil && bench.isReleased)
        #expect(bench.at(200, Bench.order(2, .lock)) == [.rest, .ended(2, .locked)])
        // And it is not opened by that.
        #expect(bench.at(300, .daemon(isThere: false)).isEmpty && !bench.isReleased)
    }

    @Test("Fail-secure is active while the door is released, fail-safe while it is locked")
    func failure() {
        #expect(StrikeRules(failure: .secure).isActive(released: true))
        #expect(!StrikeRules(failure: .secure).isActive(released: false))
        #expect(!StrikeRules(failure: .safe).isActive(released: true))
        #expect(StrikeRules(failure: .safe).isActive(released: false))
    }

    @Test("A jam is found by time, tried as often as is configured, and told; each attempt is a pulse of its own")
    func jam() {
        let bench = Bench(StrikeRules(feedback: Bench.feedback), isLocked: true)
        #expect(bench.handle(Bench.order(1, .unlock)) == [.release])
        #expect(bench.machine.status.last?.result == nil && bench.machine.status.position == .unknown)
        #expect(bench.at(999).isEmpty)
        #expect(bench.at(1_000) == [.rest])
        #expect(bench.told == ["the bolt is jammed: it is tried again"])
        #expect(bench.at(1_199).isEmpty)
        #expect(bench.at(1_200) == [.release] && bench.deadline == 2_200)
        #expect(bench.at(2_200) == [.rest, .ended(1, .jammed)])
        #expect(bench.machine.status.position == .jammed && !bench.isReleased)
        #expect(2_200 == Bench.feedback.wholeMilliseconds)
        // A hand frees it.
        bench.at(2_300, .inputs(StrikeInputs(isLocked: false)))
        #expect(bench.machine.status.position == .unlocked)
    }

    @Test("A jam that is freed by the second attempt is none; a lock is tried again in the same way")
    func freed() {
        let bench = Bench(StrikeRules(feedback: Bench.feedback), isLocked: true)
        bench.handle(Bench.order(1, .unlock))
        bench.at(1_000)
        bench.at(1_200)
        #expect(bench.at(1_300, .inputs(StrikeInputs(isLocked: false))) == [.ended(1, .unlocked)])
        #expect(bench.at(4_200) == [.rest])
        #expect(bench.machine.status.position == .unlocked, "the bolt has not gone out")
        #expect(bench.at(5_000, Bench.order(2, .lock)) == [.rest])
        #expect(bench.at(6_000) == [.rest] && bench.at(6_200) == [.rest])
        #expect(bench.at(6_300, .inputs(StrikeInputs(isLocked: true))) == [.ended(2, .locked)])
    }

    @Test("A latch is pulled once, and no opening is tried again behind its time")
    func noSecondAttempt() {
        let bench = Bench(StrikeRules(feedback: Bench.feedback), isLocked: true)
        bench.handle(Bench.order(1, .unlatch))
        #expect(bench.at(1_000) == [.rest, .ended(1, .jammed)])
        bench.at(2_000, Bench.order(2, .unlock, notAfter: 3_199))
        #expect(bench.at(3_000) == [.rest, .ended(2, .jammed)])
        bench.at(4_000, Bench.order(3, .unlock, notAfter: 5_200))
        #expect(bench.at(5_000) == [.rest] && bench.at(5_201) == [.rest, .ended(3, .jammed)])
    }

    @Test("A pulse that is shorter than the bolt's way ends in its time all the same")
    func shortPulse() {
        let bench = Bench(StrikeRules(feedback: Bench.feedback), isLocked: true)
        bench.handle(Bench.order(1, .unlatch, pulse: 300))
        #expect(bench.deadline == 300)
        #expect(bench.at(300) == [.rest, .ended(1, .jammed)])
    }

    @Test("A line that does not read as it was set opens nothing, and is put to its rest")
    func readBack() {
        for metal in [Bench.Metal.ignores, .fails] {
            let bench = Bench()
            bench.metal = metal
            let outputs = bench.handle(Bench.order(1, .unlock))
            let isStuck = metal == .fails
            #expect(outputs == [.release, .rest, .ended(1, .unknown)])
            #expect(bench.machine.status.position == (isStuck ? .unknown : .locked))
            #expect(bench.told.count == (isStuck ? 2 : 1))
        }
    }

    @Test("A line that does not go to its rest is told to until it does, and nothing is opened meanwhile")
    func stuck() {
        for metal in [Bench.Metal.ignores, .fails] {
            let bench = Bench()
            bench.handle(Bench.order(1, .unlock))
            bench.metal = metal
            #expect(bench.at(3_000) == [.rest])
            #expect(bench.machine.status.position == .unknown && bench.deadline == 3_100)
            for now in [UInt64(3_100), 3_200, 3_300] {
                #expect(bench.at(now) == [.rest] && bench.deadline == now + 100)
            }
            #expect(bench.at(3_301, Bench.order(2, .unlock)) == [.ended(2, .declined)])
            #expect(bench.at(3_302, Bench.order(3, .lock)) == [.ended(3, .declined)])
            bench.metal = .obeys
            #expect(bench.at(3_400) == [.rest] && bench.deadline == nil)
            #expect(bench.machine.status.position == .locked && !bench.isReleased)
            #expect(bench.told.count == 2)
        }
    }

    @Test("A lock whose line does not go to its rest is not said to be locked")
    func lockStuck() {
        let bench = Bench(StrikeRules(drive: .hold))
        bench.handle(Bench.order(1, .unlock))
        bench.metal = .fails
        #expect(bench.handle(Bench.order(2, .lock)) == [.rest, .ended(2, .unknown)])
        #expect(bench.machine.status.last == StrikeStatus.Last(intent: 2, result: .unknown))
    }

    @Test("A shell that does not answer ends no pulse late")
    func unanswered() {
        var machine = StrikeMachine(StrikeRules())
        var outputs: [StrikeMachine.Output] = []
        machine.handle(.chip(StrikeInputs()), now: Bench.instant(0), into: &outputs)
        machine.handle(Bench.order(1, .unlock), now: Bench.instant(0), into: &outputs)
        #expect(outputs == [.release] && machine.deadline == Bench.instant(3_000))
        machine.handle(.time, now: Bench.instant(3_000), into: &outputs)
        #expect(outputs.last == .rest && machine.deadline == Bench.instant(3_100))
    }

    @Test(
        "Unplugged in the middle, nobody knows what became of it; the chip comes back at rest, and opens nothing again")
    func unplugged() {
        let bench = Bench(StrikeRules(feedback: Bench.feedback), isLocked: true, isClosed: true)
        bench.handle(Bench.order(1, .unlock))
        #expect(bench.handle(.chipGone) == [.ended(1, .unknown)])
        #expect(
            bench.machine.status
                == StrikeStatus(
                    position: .unknown, hasChip: false, last: StrikeStatus.Last(intent: 1, result: .unknown)))
        #expect(bench.deadline == nil)
        #expect(bench.handle(Bench.order(2, .unlock)) == [.ended(2, .declined)])
        bench.handle(.chip(StrikeInputs(isClosed: false, isLocked: true)))
        #expect(bench.machine.status.contact == .open && bench.machine.status.position == .locked)
        #expect(bench.handle(Bench.order(1, .unlock)) == [.ended(1, .unknown)])
    }

    @Test("The lines beside the door are told: a press once, the others as they are")
    func inputs() {
        let bench = Bench(isClosed: true)
        #expect(bench.handle(.inputs(StrikeInputs(isClosed: true, isExit: true))) == [.report(.exit)])
        #expect(bench.handle(.inputs(StrikeInputs(isClosed: false, isExit: true, isFire: true))).isEmpty)
        #expect(bench.machine.status == StrikeStatus(position: .locked, contact: .open, isFire: true))
        bench.handle(.inputs(StrikeInputs(isClosed: true, isTampered: true)))
        #expect(bench.machine.status == StrikeStatus(position: .locked, contact: .closed, isTampered: true))
        #expect(!bench.isReleased, "the keeper opens for nobody by itself")
        // Whoever holds the button while the chip comes back has pressed it before.
        bench.handle(.chipGone)
        #expect(bench.handle(.chip(StrikeInputs(isExit: true))).isEmpty)
    }

    @Test(
        "Whatever comes: no line is released without an order in its time, longer than asked, or twice for one name; every order ends once"
    )
    func random() {
        var generator = SeededGenerator(announcedBy: "StrikeMachineTests.random")
        var releases = 0
        for _ in 0..<300 {
            let rules = StrikeRules(
                drive: Bool.random(using: &generator) ? .pulse : .hold,
                pulseMaximumMilliseconds: 2_000, feedback: Bool.random(using: &generator) ? Bench.feedback : nil)
            var judge = StrikeJudge(rules)
            for _ in 0..<200 { judge.step(&generator) }
            judge.comeToRest()
            releases += judge.releases
        }
        #expect(releases > 1_000)
    }
}
