import Synchronization

/// The lives that are still to be played and what became of the others, shared by the threads that play them.
final class AppQueue: Sendable {
    private struct State {
        var plans: ArraySlice<AppPlan>
        var results: [AppResult]
        var failure: DrillError?
        var done = 0
        var toldAt = Clock.now
    }

    private let state: Mutex<State>
    private let planned: Int
    private let began = Clock.now
    private static let progressMilliseconds: UInt64 = 5_000

    init(_ plans: [AppPlan], results: [AppResult]) {
        planned = plans.count
        state = Mutex(State(plans: plans[...], results: results))
    }

    /// The next plan; nil when all are done, or something keeps the drill from going on.
    func next() -> AppPlan? { state.withLock { $0.failure == nil ? $0.plans.popFirst() : nil } }

    func fail(_ error: DrillError) { state.withLock { $0.failure = $0.failure ?? error } }

    func add(_ result: AppResult) {
        state.withLock { state in
            state.results.append(result)
            state.done += 1
            let progress = Progress()
            if result.isBroken {
                progress.finish()
                for finding in result.findings { progress.say("VIOLATION \(finding.description)") }
                progress.say("  by \(result.text)")
                if let directory = result.directory { progress.say("  everything is kept in \(directory)") }
            }
            let now = Clock.now
            let isLast = state.done == planned
            guard progress.isTerminal || isLast || now > state.toldAt + Clock.milliseconds(Self.progressMilliseconds)
            else { return }
            state.toldAt = now
            let left = (now - began) / UInt64(state.done) * UInt64(planned - state.done) / 1_000_000_000
            progress.show(
                "\(state.done)/\(planned) lives, \(state.results.count(where: \.isBroken)) broke a rule, \(left / 60) min \(left % 60) s left"
            )
        }
    }

    /// What came of it all, once the threads have ended.
    var outcome: (results: [AppResult], failure: DrillError?) { state.withLock { ($0.results, $0.failure) } }
}
