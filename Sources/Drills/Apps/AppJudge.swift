/// Judges by the rules what was seen of a program. Pure, and without a clock: the caller knows when a debt is overdue.
enum AppJudge {
    /// A rule that is broken, or that is not fulfilled yet.
    struct Finding: Hashable, Sendable {
        /// The line of the rules file; 0: the promise that no program ends by itself, which no file has to name.
        var line: Int
        var text: String

        var description: String { line == 0 ? text : "line \(line): \(text)" }
    }

    struct Verdict: Equatable, Sendable {
        /// Broken for good: nothing that follows can change it.
        var broken: [Finding] = []
        /// Not fulfilled yet: it still has to happen.
        var owed: [Finding] = []
    }

    /// An answer may have been read so much earlier than its cause: the two are lines of two processes.
    static let slackNanoseconds: UInt64 = 5_000_000_000

    static func judge(_ history: AppHistory, by rules: AppRules) -> Verdict {
        var verdict = Verdict()
        verdict.broken = history.deaths.map { Finding(line: 0, text: $0) }
        verdict.owed = [goal(history, rules), again(history, rules)].compactMap { $0 }
        for line in rules.lines {
            func finding(_ text: String) -> Finding { Finding(line: line.number, text: "\(line.text): \(text)") }
            switch line.rule {
            case .excuse: continue
            case .never(let sight):
                if let seen = history.first(sight) { verdict.broken.append(finding(told(seen))) }
            case .afterNever(let first, let never):
                guard let cause = history.first(first) else { continue }
                if let seen = history.all(never).first(where: { $0.at > cause.at }) {
                    verdict.broken.append(finding(told(seen)))
                }
            case .restartNever(let first, let never):
                guard let run = restartRun(after: first, history) else { continue }
                if let seen = history.all(never).first(where: { $0.run >= run }) {
                    verdict.broken.append(finding(told(seen)))
                }
            case .restart(let first, let then):
                guard let from = restartRun(after: first, history) else { continue }
                let last = history.runs.count - 1
                guard from <= last, !history.all(then).contains(where: { $0.run == last }) else { continue }
                verdict.owed.append(finding("not so in start \(last + 1); it said \(said(history, last))"))
            case .when(let first, let then):
                if let seen = unanswered(history, first, then) {
                    verdict.owed.append(finding("nothing followed \(told(seen))"))
                }
            }
        }
        return verdict
    }

    /// The line of the rule that excuses this life; nil when none does.
    static func excuse(_ history: AppHistory, by rules: AppRules) -> Int? {
        rules.lines.first { line in
            if case .excuse(let sight) = line.rule { history.first(sight) != nil } else { false }
        }?.number
    }

    /// The first run that began after `first` was seen.
    private static func restartRun(after first: AppRules.Sight, _ history: AppHistory) -> Int? {
        guard let cause = history.first(first) else { return nil }
        if case .line(.program, _) = cause.what { return cause.run + 1 }
        return history.runs.firstIndex { $0.startedAt > cause.at }
    }

    /// The goal, if the last run has not come to it.
    private static func goal(_ history: AppHistory, _ rules: AppRules) -> Finding? {
        let last = history.runs.count - 1
        guard !history.all(rules.goal).contains(where: { $0.run == last }) else { return nil }
        return Finding(
            line: rules.goalLine,
            text: "until \(rules.goal): not so in start \(last + 1); it said \(said(history, last))")
    }

    /// The rule `again`, if a fault has ended a link in the last run and the program has not shown the rule's sight since.
    private static func again(_ history: AppHistory, _ rules: AppRules) -> Finding? {
        let last = history.runs.count - 1
        guard let sight = rules.again,
            let struck = history.struck.last(where: { $0.run == last && $0.hasTakenLink }),
            !history.all(sight).contains(where: { $0.run == last && $0.at > struck.at })
        else { return nil }
        return Finding(
            line: rules.againLine,
            text: "again \(sight): not so behind \(struck.fault) in start \(last + 1); it said \(said(history, last))")
    }

    /// The last `first`, if no `then` has answered it; nil when one has.
    private static func unanswered(
        _ history: AppHistory, _ first: AppRules.Sight, _ then: AppRules.Sight
    ) -> AppHistory.Seen? {
        let causes = history.all(first)
        guard let last = causes.last else { return nil }
        let before = causes.dropLast().last?.at ?? 0
        let start = history.runs.last { $0.startedAt <= last.at }?.startedAt ?? 0
        let slack = last.at > slackNanoseconds ? last.at - slackNanoseconds : 0
        let from = max(before, start, slack)
        return history.all(then).contains { $0.at >= from } ? nil : last
    }

    private static func told(_ seen: AppHistory.Seen) -> String {
        switch seen.what {
        case .line(.program, let text): "it printed \"\(text)\" in start \(seen.run + 1)"
        case .line(.peer, let text): "the peer printed \"\(text)\""
        case .air(let event): "\(event.rawValue) on the air in start \(seen.run + 1)"
        }
    }

    private static let saidLines = 6

    private static func said(_ history: AppHistory, _ run: Int) -> String {
        let lines = history.seen.compactMap { seen -> String? in
            guard seen.run == run, case .line(.program, let text) = seen.what else { return nil }
            return "\"\(text)\""
        }
        return lines.isEmpty ? "nothing" : lines.suffix(saidLines).joined(separator: ", ")
    }
}
