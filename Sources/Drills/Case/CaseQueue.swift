import Synchronization

/// The cases that are still to be played and what became of the others, shared by the threads that play them.
final class CaseQueue<Plan: CasePlan>: Sendable {
    private struct State {
        var plan: Plan
        /// How many points have been given.
        var given = 0
        var results: [(place: Int, result: Plan.Result)] = []
        var violated: Int
        var failure: DrillError?
        var toldAt = Clock.now
    }

    private let state: Mutex<State>
    private let earlier: [Plan.Result]
    private let began = Clock.now
    /// Whether people hear how far it is, and what breaks.
    private let isTold: Bool
    private static var progressMilliseconds: UInt64 { 5_000 }

    /// - Parameter earlier: results that there are already; the plan does not come to them again.
    init(_ plan: Plan, earlier: [Plan.Result] = [], isTold: Bool = true) {
        state = Mutex(State(plan: plan, violated: earlier.count(where: \.isViolated)))
        self.earlier = earlier
        self.isTold = isTold
    }

    /// Plays everything by so many threads. Each has a waiter of its own, and its children end with it.
    ///
    /// - Parameter play: gives the result of a point, and where the files of a case that failed are.
    func playAll(
        jobs: Int, _ play: @escaping @Sendable (Plan.Point, Waiter) throws -> (result: Plan.Result, keptIn: String?)
    ) throws {
        try Threads((0..<jobs).map { _ in { self.work(play) } }).join()
    }

    private func work(_ play: (Plan.Point, Waiter) throws -> (result: Plan.Result, keptIn: String?)) {
        do {
            let waiter = try Waiter()
            while let (place, point) = next() {
                let (result, directory) = try play(point, waiter)
                add(result, at: place, keptIn: directory)
            }
        } catch {
            fail(error as? DrillError ?? DrillError(.environment, "\(error)"))
        }
    }

    /// The next point with its place; nil when all are done, or something keeps the drill from going on.
    func next() -> (place: Int, point: Plan.Point)? {
        state.withLock { state in
            guard state.failure == nil, let point = state.plan.next() else { return nil }
            defer { state.given += 1 }
            return (state.given, point)
        }
    }

    func fail(_ error: DrillError) { state.withLock { $0.failure = $0.failure ?? error } }

    /// Takes the result of the point with this place.
    func add(_ result: Plan.Result, at place: Int, keptIn directory: String?) {
        state.withLock { state in
            state.results.append((place, result))
            if result.isViolated { state.violated += 1 }
            do { try state.plan.add(result) } catch { state.failure = error as? DrillError }
            guard isTold else { return }
            if result.isViolated { tell(result, state.plan, directory) }
            tellProgress(&state)
        }
    }

    private func tell(_ result: Plan.Result, _ plan: Plan, _ directory: String?) {
        let progress = Progress()
        progress.finish()
        for text in result.violations { progress.say("VIOLATION \(text)") }
        for line in plan.story(result) { progress.say("  " + line) }
        if let directory { progress.say("  everything is kept in \(directory)") }
    }

    private func tellProgress(_ state: inout State) {
        let progress = Progress()
        let (now, done, planned) = (Clock.now, state.results.count, state.plan.planned)
        guard
            progress.isTerminal || done == planned
                || now > state.toldAt + Clock.milliseconds(Self.progressMilliseconds)
        else { return }
        state.toldAt = now
        let left = (now - began) / UInt64(max(done, 1)) * UInt64(planned - done) / 1_000_000_000
        let text = state.plan.progress(done: done, violated: state.violated)
        progress.show("\(text), \(left / 60) min \(left % 60) s left")
    }

    /// What came of it all, in the order of the points, once the threads have ended.
    var outcome: (results: [Plan.Result], failure: DrillError?) {
        state.withLock { state in
            (earlier + state.results.sorted { $0.place < $1.place }.map(\.result), state.failure)
        }
    }
}
