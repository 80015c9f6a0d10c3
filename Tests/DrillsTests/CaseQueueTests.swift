import Testing

@testable import Drills

@Suite("The queue of cases") struct CaseQueueTests {
    private static let plan = AppLives((1...4).map { AppPlan(faults: [AppFault(.kill, .call($0))]) })

    @Test("Results stand in the order of their points, behind those that there were, however late they come")
    func order() {
        let earlier = AppResult(plan: AppPlan(faults: []))
        let queue = CaseQueue(Self.plan, earlier: [earlier], isTold: false)
        var given: [(place: Int, point: AppPlan)] = []
        while let next = queue.next() { given.append(next) }
        #expect(given.map(\.place) == [0, 1, 2, 3])
        for (place, point) in given.reversed() { queue.add(AppResult(plan: point), at: place, keptIn: nil) }
        #expect(queue.outcome.results.map(\.plan) == [earlier.plan] + given.map(\.point))
        #expect(queue.outcome.failure == nil)
    }

    @Test("Several threads play each point once")
    func threads() throws {
        let plans = (1...200).map { AppPlan(faults: [AppFault(.kill, .call($0))]) }
        let queue = CaseQueue(AppLives(plans), isTold: false)
        try queue.playAll(jobs: 4) { plan, _ in (AppResult(plan: plan), nil) }
        #expect(queue.outcome.results.map(\.plan) == plans)
    }

    @Test("A failure ends the queue, and the first one is told")
    func failure() throws {
        let queue = CaseQueue(Self.plan, isTold: false)
        try queue.playAll(jobs: 1) { plan, _ in
            if plan == AppPlan(faults: [AppFault(.kill, .call(3))]) { throw DrillError(.interrupted, "interrupted") }
            return (AppResult(plan: plan), nil)
        }
        queue.fail(DrillError(.stuck, "later"))
        #expect(queue.next() == nil)
        #expect(queue.outcome.results.count == 2)
        #expect(queue.outcome.failure?.kind == .interrupted)
    }
}
