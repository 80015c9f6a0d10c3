import Synchronization

/// The lives that are still to be played and what became of the others, shared by the threads that play them.
final class AppQueue: Sendable {
    private struct State {
        var next = 0
        var results: [AppResult?]
        var failure: DrillError?
        var done = 0
        var broken = 0
        var toldAt = Clock.now
    }

    private let plans: [AppPlan]
    private let state: Mutex<State>
    private let began = Clock.now
    /// Whether people hear how far it is, and what breaks.
    private let isTold: Bool
    private static let progressMilliseconds: UInt64 = 5_000

    init(_ plans: [AppPlan], isTold: Bool = false) {
        self.plans = plans
        self.isTold = isTold
        state = Mutex(State(results: Array(repeating: nil, count: plans.count)))
    }

    /// The next plan with its place; nil when all are done, or something keeps the drill from going on.
    func next() -> (Int, AppPlan)? {
        state.withLock { state in
            guard state.failure == nil, state.next < plans.count else { return nil }
            defer { state.next += 1 }
            return (state.next, plans[state.next])
        }
    }

    func fail(_ error: DrillError) { state.withLock { $0.failure = $0.failure ?? error } }

    func add(_ result: AppResult, at index: Int) {
        state.withLock { state in
            state.results[index] = result
            state.done += 1
            if result.isBroken { state.broken += 1 }
            if isTold { tell(result, &state) }
        }
    }

    private func tell(_ result: AppResult, _ state: inout State) {
        let progress = Progress()
        if result.isBroken {
            progress.finish()
            for finding in result.findings { progress.say("VIOLATION \(finding.description)") }
            progress.say("  by \(result.text)")
            if let directory = result.directory { progress.say("  everything is kept in \(directory)") }
        }
        let now = Clock.now
        let isLast = state.done == plans.count
        guard progress.isTerminal || isLast || now > state.toldAt + Clock.milliseconds(Self.progressMilliseconds)
        else { return }
        state.toldAt = now
        let left = (now - began) / UInt64(state.done) * UInt64(plans.count - state.done) / 1_000_000_000
        progress.show(
            "\(state.done)/\(plans.count) lives, \(state.broken) broke a rule, \(left / 60) min \(left % 60) s left")
    }

    /// What came of it all, in the order of the plans, once the threads have ended.
    var outcome: (results: [AppResult], failure: DrillError?) {
        state.withLock { ($0.results.compactMap { $0 }, $0.failure) }
    }
}
