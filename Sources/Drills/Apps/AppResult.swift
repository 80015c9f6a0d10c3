/// What became of one life.
struct AppResult: CaseOutcome, Equatable {
    var plan: AppPlan
    var findings: [AppJudge.Finding] = []
    var history = AppHistory()
    /// How many calls each run made.
    var calls: [Int] = []
    /// Where a life that broke a rule keeps its files.
    var directory: String?

    var isViolated: Bool { !findings.isEmpty }
    var violations: [String] { findings.map(\.description) }
    var milliseconds: UInt64 { (history.ended &- history.began) / 1_000_000 }
    var kills: [AppHistory.Struck] { history.struck.filter { $0.fault.kind == .kill } }

    /// What happened in words: with the names of the calls where there were kills.
    var text: String {
        let words = history.struck.map { struck in
            struck.call.map { "\(struck.fault) (\($0))" } ?? "\(struck.fault)"
        }
        return words.isEmpty ? "no fault" : words.joined(separator: ", ")
    }

    /// How long starts behind a kill took to come to the goal.
    func restoreMilliseconds(_ goal: AppRules.Sight) -> [UInt64] {
        history.runs.indices.dropFirst().compactMap { run in
            history.all(goal).first { $0.run == run }.map {
                ($0.at &- history.runs[run].startedAt) / 1_000_000
            }
        }
    }
}

/// A broken life, and the least that still breaks it.
struct AppFailure: Equatable, Sendable {
    var found: AppResult
    var least: AppResult

    var isShrunk: Bool { least.plan != found.plan }
}
