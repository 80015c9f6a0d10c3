import Synchronization

/// The points that are still to be done and the results so far, shared by the threads that do them.
final class CallQueue: Sendable {
    private struct State {
        var points: ArraySlice<CallPoint>
        var results: [CaseResult]
        var failure: DrillError?
        /// Where each role's points go on behind the last that was planned.
        var extensions: [Role: Extension] = [:]
        var planned: Int
        var done = 0
        var toldAt: UInt64
    }

    /// A life on a busy machine makes more calls than the one that was counted. So the points go on until nobody lives long enough.
    private struct Extension {
        var next: Int
        /// A machine that is very busy makes very long lives: where they are nothing but waiting, it ends.
        let limit: Int
        /// How many points in a row nobody came to.
        var missed = 0
    }

    private static let missedMaximum = 8

    private let state: Mutex<State>
    private let began = Clock.now
    private let options: SystemCallOptions
    private let seed: UInt64
    private let ledger: CallLedger?
    private static let progressMilliseconds: UInt64 = 5_000

    /// `counts`: how many calls a whole life of each role made. Points that the results have already are left out.
    init(
        _ counts: [Role: Int], results: [CaseResult], options: SystemCallOptions, seed: UInt64, ledger: CallLedger?
    ) {
        let done = Set(results.map(\.point))
        let points = options.points(counts).filter { !done.contains($0) }
        var state = State(points: points[...], results: results, planned: points.count, toldAt: Clock.now)
        if options.to == nil {
            for role in options.roles {
                let last = options.points(counts).last { $0.role == role }?.number
                let first = last.map { $0 + options.part.of } ?? options.from + options.part.index - 1
                let count = max(counts[role] ?? 0, options.from)
                state.extensions[role] = Extension(next: first, limit: count + count / 4 + Self.missedMaximum)
            }
        }
        self.state = Mutex(state)
        self.options = options
        self.seed = seed
        self.ledger = ledger
    }

    /// The next point; nil when all are done, or something keeps the drill from going on.
    func next() -> CallPoint? {
        state.withLock { state in
            guard state.failure == nil else { return nil }
            return state.points.popFirst() ?? extend(&state)
        }
    }

    private func extend(_ state: inout State) -> CallPoint? {
        for role in options.roles {
            while let tail = state.extensions[role], tail.missed < Self.missedMaximum,
                tail.next <= tail.limit
            {
                state.extensions[role]?.next += options.part.of
                let point = options.point(role, tail.next)
                if state.results.contains(where: { $0.point == point }) { continue }
                state.planned += 1
                return point
            }
        }
        return nil
    }

    func fail(_ error: DrillError) { state.withLock { $0.failure = $0.failure ?? error } }

    /// Takes a result, and the point that follows from it; where the files of a case that failed are.
    func add(_ result: CaseResult, followedBy next: CallPoint?, keptIn directory: String?) {
        state.withLock { state in
            state.results.append(result)
            state.done += 1
            let role = result.point.role
            let missed = state.extensions[role]?.missed ?? 0
            state.extensions[role]?.missed = result.verdict == .beyond ? missed + 1 : 0
            if let next {
                state.points.append(next)
                state.planned += 1
            }
            do { try ledger?.add(result) } catch { state.failure = error as? DrillError }
            if result.verdict == .violated { tell(result, directory) }
            tellProgress(&state)
        }
    }

    private func tell(_ result: CaseResult, _ directory: String?) {
        let progress = Progress()
        progress.finish()
        for text in result.violations { progress.say("VIOLATION \(text)") }
        progress.say(
            "  the \(result.point.role.rawValue) at call \(result.point.number) (\(result.call ?? "to its end")); again with:"
        )
        progress.say("  " + result.point.replay(seed: seed, plant: options.plant))
        if let directory { progress.say("  everything is kept in \(directory)") }
    }

    private func tellProgress(_ state: inout State) {
        let progress = Progress()
        let now = Clock.now
        let isLast = state.done == state.planned
        guard progress.isTerminal || isLast || now > state.toldAt + Clock.milliseconds(Self.progressMilliseconds) else {
            return
        }
        state.toldAt = now
        let violated = state.results.count { $0.verdict == .violated }
        let left = (now - began) / UInt64(max(state.done, 1)) * UInt64(state.planned - state.done) / 1_000_000_000
        progress.show(
            "\(state.done)/\(state.planned) cases, \(violated) violated, \(left / 60) min \(left % 60) s left")
    }

    /// What came of it all, once the threads have ended.
    var outcome: (results: [CaseResult], failure: DrillError?) { state.withLock { ($0.results, $0.failure) } }
}
