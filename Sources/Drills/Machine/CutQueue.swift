import Synchronization

/// The cuts that are still to be made and the results so far, shared by the threads that make them.
final class CutQueue: Sendable {
    private struct State {
        var points: ArraySlice<CutPoint>
        var results: [CutResult] = []
        var failure: DrillError?
        var toldAt: UInt64
        var planned: Int
        /// How many cuts stand in for those that never came.
        var standIns = 0
    }

    private let state: Mutex<State>
    private let began = Clock.now
    private let options: MachineOptions
    private let seed: UInt64
    private static let progressMilliseconds: UInt64 = 5_000

    init(_ points: [CutPoint], options: MachineOptions, seed: UInt64) {
        state = Mutex(State(points: points[...], toldAt: Clock.now, planned: points.count))
        self.options = options
        self.seed = seed
    }

    /// The next point; nil when all are done, or something keeps the drill from going on.
    func next() -> CutPoint? { state.withLock { $0.failure == nil ? $0.points.popFirst() : nil } }

    func fail(_ error: DrillError) { state.withLock { $0.failure = $0.failure ?? error } }

    /// Takes a result; where the files of a case that failed are.
    func add(_ result: CutResult, keptIn directory: String?) {
        state.withLock { state in
            state.results.append(result)
            if let point = result.standIn(state.standIns), options.to == nil {
                state.points.append(point)
                state.planned += 1
                state.standIns += 1
            }
            if !result.violations.isEmpty { tell(result, directory) }
            tellProgress(&state)
        }
    }

    private func tell(_ result: CutResult, _ directory: String?) {
        let progress = Progress()
        progress.finish()
        for text in result.violations { progress.say("VIOLATION \(text)") }
        progress.say("  the \(result.point.role.rawValue)'s power at \(result.place); again with:")
        progress.say("  " + result.point.replay(seed: seed, options: options))
        if let directory { progress.say("  everything is kept in \(directory)") }
    }

    private func tellProgress(_ state: inout State) {
        let progress = Progress()
        let (now, done, planned) = (Clock.now, state.results.count, state.planned)
        guard
            progress.isTerminal || done == planned
                || now > state.toldAt + Clock.milliseconds(Self.progressMilliseconds)
        else { return }
        state.toldAt = now
        let violated = state.results.count { !$0.violations.isEmpty }
        let left = (now - began) / UInt64(max(done, 1)) * UInt64(planned - done) / 1_000_000_000
        progress.show("\(done)/\(planned) cuts, \(violated) violated, \(left / 60) min \(left % 60) s left")
    }

    /// What came of it all, once the threads have ended.
    var outcome: (results: [CutResult], failure: DrillError?) { state.withLock { ($0.results, $0.failure) } }
}

extension CutResult {
    /// Lives differ by some operations: a cut whose operation never came is made earlier in a life, with a choice that no other has.
    func standIn(_ number: Int) -> CutPoint? {
        guard operation == nil, point.number > 1, violations.isEmpty else { return nil }
        return CutPoint(role: point.role, number: point.number / 2, choice: Self.standInChoice + number)
    }

    private static let standInChoice = 10_000

    /// Where the power went, for people.
    var place: String {
        guard let operation else { return "operation \(point.number), which never came" }
        return "\(operation.rawValue) \(point.number), \(keptOctets) of \(unflushedOctets) unconfirmed octets kept"
    }
}
