import BluetoothCore
import StrikeControl
import Testing

/// What the lock is told while an order is under way and behind it, and what the bolt and the line say meanwhile.
@Suite("The keeper of a strike: what it tells")
struct StrikeProgressTests {
    private typealias Bench = StrikeBench
    private typealias Last = StrikeStatus.Last

    private static func bench(_ drive: StrikeRules.Drive = .pulse, isLocked: Bool = true) -> StrikeBench {
        Bench(StrikeRules(drive: drive, feedback: Bench.feedback), isLocked: isLocked)
    }

    @Test("An order that is declined while another one is under way does not take that one's place in the status")
    func declinedUnderWay() {
        let bench = Self.bench()
        bench.handle(Bench.order(1, .unlock))
        #expect(bench.at(10, Bench.order(2, .unlock)) == [.ended(2, .declined)])
        #expect(bench.machine.status.last == Last(intent: 1, result: nil) && bench.machine.isReleased)
        // In the pause behind a jam as well.
        bench.at(1_000)
        #expect(bench.at(1_010, Bench.order(3, .unlatch)) == [.ended(3, .declined)])
        #expect(bench.machine.status.last == Last(intent: 1, result: nil))
        bench.at(1_200)
        #expect(bench.at(1_300, .inputs(StrikeInputs(isLocked: false))) == [.ended(1, .unlocked)])
        #expect(bench.machine.status.last == Last(intent: 1, result: .unlocked))
        // And while the bolt is awaited that goes out.
        #expect(bench.at(1_400, Bench.order(4, .lock)) == [.rest])
        #expect(bench.at(1_410, Bench.order(5, .unlock)) == [.ended(5, .declined)])
        #expect(bench.machine.status.last == Last(intent: 4, result: nil))
        #expect(bench.at(1_500, .inputs(StrikeInputs(isLocked: true))) == [.ended(4, .locked)])
        #expect(bench.machine.status.last == Last(intent: 4, result: .locked))
    }

    @Test("An order that is declined while nothing is under way is the last one")
    func declined() {
        let bench = Bench()
        #expect(bench.machine.status.last == nil)
        bench.handle(Bench.order(1, .unlock, pulse: 0))
        #expect(bench.machine.status.last == Last(intent: 1, result: .declined))
        bench.handle(Bench.order(2, .unlock))
        bench.handle(Bench.order(3, .unlock, pulse: 0))
        #expect(bench.machine.status.last == Last(intent: 3, result: .declined) && bench.isReleased)
        bench.handle(.chipGone)
        bench.handle(Bench.order(4, .lock))
        #expect(bench.machine.status.last == Last(intent: 4, result: .declined))
    }

    @Test("A lock ends what is under way, which nobody knows the end of then, and is the last order itself")
    func overtaken() {
        let bench = Self.bench()
        bench.handle(Bench.order(1, .unlock))
        #expect(bench.at(10, Bench.order(2, .lock)) == [.ended(1, .unknown), .rest, .ended(2, .locked)])
        #expect(bench.machine.status == StrikeStatus(position: .locked, last: Last(intent: 2, result: .locked)))
        #expect(bench.deadline == nil)
        // A lock ends a lock.
        let closing = Self.bench(isLocked: false)
        #expect(closing.handle(Bench.order(1, .lock)) == [.rest])
        #expect(closing.machine.status == StrikeStatus(position: .unknown, last: Last(intent: 1, result: nil)))
        #expect(closing.at(500, Bench.order(2, .lock)) == [.ended(1, .unknown), .rest] && closing.deadline == 1_500)
        #expect(closing.machine.status.last == Last(intent: 2, result: nil))
        #expect(closing.at(600, .inputs(StrikeInputs(isLocked: true))) == [.ended(2, .locked)])
    }

    @Test("Of a door that is released and seen locked nobody knows; where the bolt goes, the position goes")
    func releasedAndLocked() {
        let bench = Self.bench(.hold)
        bench.handle(Bench.order(1, .unlock))
        bench.handle(.inputs(StrikeInputs(isLocked: false)))
        #expect(bench.machine.status.position == .unlocked)
        #expect(bench.handle(.inputs(StrikeInputs(isLocked: true))).isEmpty)
        #expect(bench.machine.status.position == .unknown && bench.isReleased && bench.machine.isReleased)
        bench.handle(.inputs(StrikeInputs(isLocked: false)))
        #expect(bench.machine.status.position == .unlocked)
        // At rest too.
        #expect(bench.handle(Bench.order(2, .lock)) == [.rest])
        bench.handle(.inputs(StrikeInputs(isLocked: true)))
        #expect(bench.machine.status.position == .locked)
        bench.handle(.inputs(StrikeInputs(isLocked: false)))
        #expect(bench.machine.status.position == .unlocked && !bench.isReleased)
    }

    @Test("A bolt that is where it is sent to is not waited for")
    func alreadyThere() {
        let bench = Self.bench(isLocked: false)
        #expect(bench.handle(Bench.order(1, .unlock)) == [.release, .ended(1, .unlocked)] && bench.deadline == 3_000)
        bench.at(3_000)
        bench.handle(.inputs(StrikeInputs(isLocked: true)))
        #expect(bench.handle(Bench.order(2, .lock)) == [.rest, .ended(2, .locked)] && bench.deadline == nil)
    }

    @Test("A jam is told until the bolt moves, another order comes or the chip goes")
    func jammed() {
        func jam() -> StrikeBench {
            let bench = Self.bench()
            bench.handle(Bench.order(1, .unlatch))
            bench.at(1_000)
            #expect(bench.machine.status.position == .jammed)
            return bench
        }
        let contact = jam()
        contact.handle(.inputs(StrikeInputs(isClosed: true, isLocked: true)))
        #expect(contact.machine.status.position == .jammed, "another line is not the bolt")
        contact.handle(.inputs(StrikeInputs(isClosed: true, isLocked: false)))
        contact.handle(.inputs(StrikeInputs(isClosed: true, isLocked: true)))
        #expect(contact.machine.status.position == .locked)
        let ordered = jam()
        #expect(ordered.handle(Bench.order(2, .lock)) == [.rest, .ended(2, .locked)])
        #expect(ordered.machine.status.position == .locked)
        let opened = jam()
        opened.handle(Bench.order(2, .unlock))
        opened.handle(.inputs(StrikeInputs(isLocked: false)))
        opened.at(4_000)
        opened.handle(.inputs(StrikeInputs(isLocked: true)))
        #expect(opened.machine.status.position == .locked)
        let unplugged = jam()
        unplugged.handle(.chipGone)
        unplugged.handle(.chip(StrikeInputs(isLocked: true)))
        #expect(unplugged.machine.status.position == .locked)
    }

    @Test("The second attempt at a hold holds, and at a pulse is as long as was asked")
    func secondAttempt() {
        for drive in StrikeRules.Drive.allCases {
            let bench = Self.bench(drive)
            bench.handle(Bench.order(1, .unlock, pulse: 2_500))
            #expect(bench.at(1_000) == [.rest] && bench.at(1_200) == [.release])
            #expect(bench.at(1_300, .inputs(StrikeInputs(isLocked: false))) == [.ended(1, .unlocked)])
            #expect(bench.deadline == (drive == .hold ? nil : 3_700))
        }
        // A hold has no length, and none is asked for.
        let hold = Bench(StrikeRules(drive: .hold))
        #expect(hold.handle(Bench.order(1, .unlock, pulse: 0)) == [.release, .ended(1, .unlocked)])
        #expect(hold.at(10, Bench.order(2, .unlatch, pulse: 0)) == [.release, .ended(2, .unlocked)])
        #expect(hold.deadline == nil)
        hold.handle(Bench.order(3, .lock))
        #expect(hold.handle(Bench.order(4, .unlatch, pulse: 0)) == [.ended(4, .declined)] && !hold.isReleased)
    }

    @Test("Another order in a pulse is another pulse: its end takes the place of the first one's")
    func another() {
        let bench = Bench()
        bench.handle(Bench.order(1, .unlock, pulse: 3_000))
        #expect(bench.at(1_000, Bench.order(2, .unlock, pulse: 500)) == [.release, .ended(2, .unlocked)])
        #expect(bench.deadline == 1_500 && bench.armedAtSet == [3_000, 1_500])
        #expect(bench.at(1_400, Bench.order(3, .unlatch, pulse: 3_000)) == [.release, .ended(3, .unlocked)])
        #expect(bench.deadline == 4_400)
    }

    @Test("A line that does not go to its rest behind a jam ends the order: nobody knows")
    func stuckBehindJam() {
        let bench = Self.bench()
        bench.handle(Bench.order(1, .unlock))
        bench.metal = .ignores
        #expect(bench.at(1_000) == [.rest, .ended(1, .unknown)])
        #expect(bench.machine.status == StrikeStatus(position: .unknown, last: Last(intent: 1, result: .unknown)))
        bench.metal = .obeys
        #expect(bench.at(1_100) == [.rest] && bench.deadline == nil)
        #expect(bench.at(9_000).isEmpty && !bench.isReleased, "it is not tried again")
    }

    @Test("Unplugged in each state with a task: it ends once, unknown")
    func unplugged() {
        let places: [(StrikeBench) -> Void] = [
            { _ in }, { $0.at(1_000) },
            {
                $0.handle(.inputs(StrikeInputs(isLocked: false)))
                $0.handle(Bench.order(2, .lock))
            },
        ]
        for (index, prepare) in places.enumerated() {
            let bench = Self.bench()
            bench.handle(Bench.order(1, .unlock))
            prepare(bench)
            #expect(bench.handle(.chipGone) == [.ended(index == 2 ? 2 : 1, .unknown)])
            #expect(bench.deadline == nil && bench.machine.status.hasChip == false)
            #expect(bench.handle(.chip(StrikeInputs(isLocked: true))).isEmpty)
            #expect(bench.machine.status.hasChip && bench.machine.status.position == .locked)
        }
    }

    @Test("An answer of the line that nobody asked for changes nothing")
    func answers() {
        let places: [(StrikeBench) -> Void] = [
            { $0.handle(.chipGone) }, { _ in }, { $0.handle(Bench.order(1, .unlock)) },
            {
                $0.handle(Bench.order(1, .unlock))
                $0.handle(.inputs(StrikeInputs(isLocked: false)))
            },
            {
                $0.handle(Bench.order(1, .unlock))
                $0.at(1_000)
            },
        ]
        for prepare in places {
            let bench = Self.bench()
            prepare(bench)
            let (status, deadline) = (bench.machine.status, bench.deadline)
            for answer in [StrikeMachine.LineAnswer.reads(isReleased: true), .reads(isReleased: false), .failed] {
                #expect(bench.handle(.line(answer)).isEmpty)
            }
            #expect(bench.machine.status == status && bench.deadline == deadline)
        }
    }

    @Test("Where a shell does not answer, the line is told to rest again, and its order ends with the answer")
    func unanswered() {
        var machine = StrikeMachine(StrikeRules())
        var outputs: [StrikeMachine.Output] = []
        func handle(_ milliseconds: UInt64, _ event: StrikeMachine.Event) -> [StrikeMachine.Output] {
            outputs = []
            machine.handle(event, now: Bench.instant(milliseconds), into: &outputs)
            return outputs
        }
        #expect(handle(0, .chip(StrikeInputs())).isEmpty)
        #expect(handle(0, Bench.order(1, .unlock)) == [.release])
        // Neither is said to be done.
        #expect(handle(10, Bench.order(2, .unlock)) == [.ended(2, .declined)])
        #expect(machine.status.last == Last(intent: 1, result: nil) && machine.isReleased)
        #expect(handle(20, Bench.order(3, .lock)) == [.ended(1, .unknown), .rest] && !machine.isReleased)
        #expect(machine.deadline == Bench.instant(120) && machine.status.position == .unknown)
        #expect(handle(120, .time) == [.rest] && machine.deadline == Bench.instant(220))
        #expect(handle(130, Bench.order(4, .unlock)) == [.ended(4, .declined)])
        #expect(handle(140, .line(.reads(isReleased: false))) == [.ended(3, .locked)])
        #expect(machine.deadline == nil && machine.status.position == .locked)
    }

    @Test("A movement takes as long as its attempts and the pauses between them")
    func whole() {
        for (retries, whole) in [(0, UInt64(1_500)), (1, 3_250), (3, 6_750)] {
            let feedback = StrikeRules.Feedback(
                travelMilliseconds: 1_500, retries: retries, retryPauseMilliseconds: 250)
            #expect(feedback.wholeMilliseconds == whole)
        }
    }
}
