/// The points of a drill at every system call: those that a whole life was counted to have, and what follows from their results.
struct CallPlan: CasePlan {
    /// A life on a busy machine makes more calls than the one that was counted. So the points go on until nobody lives long enough.
    private struct Extension {
        var next: Int
        /// A machine that is very busy makes very long lives: where they are nothing but waiting, it ends.
        let limit: Int
        /// How many points in a row nobody came to.
        var missed = 0
    }

    private static let missedMaximum = 8

    private var points: ArraySlice<CallPoint>
    /// Where each role's points go on behind the last that was planned.
    private var extensions: [Role: Extension] = [:]
    private(set) var planned: Int
    /// The points that have a result already.
    private let done: Set<CallPoint>
    private let options: SystemCallOptions
    private let seed: UInt64
    private let ledger: CallLedger?

    /// - Parameter counts: how many calls a whole life of each role made.
    /// - Parameter results: their points are left out.
    init(
        _ counts: [Role: Int], results: [CaseResult], options: SystemCallOptions, seed: UInt64, ledger: CallLedger?
    ) {
        let (done, all) = (Set(results.map(\.point)), options.points(counts))
        points = all.filter { !done.contains($0) }[...]
        planned = points.count
        self.done = done
        self.options = options
        self.seed = seed
        self.ledger = ledger
        guard options.common.to == nil else { return }
        let part = options.common.part
        for role in options.common.roles {
            let last = all.last { $0.role == role }?.number
            let first = last.map { $0 + part.of } ?? options.common.from + part.index - 1
            let count = max(counts[role] ?? 0, options.common.from)
            extensions[role] = Extension(next: first, limit: count + count / 4 + Self.missedMaximum)
        }
    }

    mutating func next() -> CallPoint? { points.popFirst() ?? extend() }

    private mutating func extend() -> CallPoint? {
        for role in options.common.roles {
            while let tail = extensions[role], tail.missed < Self.missedMaximum, tail.next <= tail.limit {
                extensions[role]?.next += options.common.part.of
                let point = options.point(role, tail.next)
                if done.contains(point) { continue }
                planned += 1
                return point
            }
        }
        return nil
    }

    mutating func add(_ result: CaseResult) throws {
        let role = result.point.role
        let missed = extensions[role]?.missed ?? 0
        extensions[role]?.missed = result.verdict == .beyond ? missed + 1 : 0
        if let next = result.point.otherChoice(withOpening: result.hadOpening) {
            points.append(next)
            planned += 1
        }
        try ledger?.add(result)
    }

    func progress(done: Int, violated: Int) -> String { "\(done)/\(planned) cases, \(violated) violated" }

    func story(_ result: CaseResult) -> [String] {
        let point = result.point
        return [
            "the \(point.role.rawValue) at call \(point.number) (\(result.call ?? "to its end")); again with:",
            point.replay(seed: seed, plant: options.common.plant),
        ]
    }
}
