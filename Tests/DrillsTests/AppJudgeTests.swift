import Testing

@testable import Drills

@Suite("The judge of somebody's program") struct AppJudgeTests {
    /// A history in words, one a second: `start`, `kill`, `cut` (which takes a link), a line of the program, `peer: ` and a line of
    /// the peer, `air: ` and an event.
    static func history(_ story: String...) throws -> AppHistory {
        var history = AppHistory()
        for (second, word) in story.enumerated() {
            let at = UInt64(second + 1) * 1_000_000_000
            let run = max(history.runs.count - 1, 0)
            switch word {
            case "start": history.runs.append(AppHistory.Run(startedAt: at))
            case "kill", "cut":
                let fault = AppFault(word == "kill" ? .kill : .cut, .end)
                history.struck.append(AppHistory.Struck(fault: fault, at: at, hasTakenLink: true, run: run))
            case _ where word.hasPrefix("peer: "):
                let line = String(word.dropFirst(6))
                history.seen.append(AppHistory.Seen(at: at, run: run, what: .line(.peer, line)))
            case _ where word.hasPrefix("air: "):
                let event = try #require(AppAir(rawValue: String(word.dropFirst(5))))
                history.seen.append(AppHistory.Seen(at: at, run: run, what: .air(event)))
            default: history.seen.append(AppHistory.Seen(at: at, run: run, what: .line(.program, word)))
            }
        }
        return history
    }

    private static func judge(_ rule: String, _ history: AppHistory) throws -> AppJudge.Verdict {
        let rules = try AppRulesParser.parse("until prints \"*\"\n" + rule)
        var verdict = AppJudge.judge(history, by: rules)
        verdict.broken.removeAll { $0.line != 2 }
        verdict.owed.removeAll { $0.line != 2 }
        return verdict
    }

    private func expect(_ rule: String, _ history: AppHistory, broken: Int = 0, owed: Int = 0) throws {
        let verdict = try Self.judge(rule, history)
        #expect(verdict.broken.count == broken, "\(verdict.broken)")
        #expect(verdict.owed.count == owed, "\(verdict.owed)")
    }

    @Test("The goal is due in the last start, and nothing that an earlier one said counts")
    func goal() throws {
        let rules = try AppRulesParser.parse("until prints \"goal\"")
        #expect(try AppJudge.judge(Self.history("start", "goal"), by: rules) == AppJudge.Verdict())
        let second = try AppJudge.judge(Self.history("start", "goal", "kill", "start", "up"), by: rules)
        #expect(second.owed.map(\.line) == [1])
        #expect(second.owed.first?.text == "until prints \"goal\": not so in start 2; it said \"up\"")
    }

    @Test("What is due again is due behind a lost link, and not without one")
    func again() throws {
        try expect("again prints \"goal\"", Self.history("start", "goal"))
        try expect("again prints \"goal\"", Self.history("start", "goal", "cut", "up"), owed: 1)
        try expect("again prints \"goal\"", Self.history("start", "goal", "cut", "goal"))
        try expect("again prints \"goal\"", Self.history("start", "goal", "kill", "start"))
    }

    @Test("What a restart has to show is due in the last start, once the first was seen in an earlier one")
    func restart() throws {
        let rule = "after prints \"a\" restart prints \"b\""
        try expect(rule, Self.history("start", "kill", "start", "a"))
        try expect(rule, Self.history("start", "a", "kill", "start"), owed: 1)
        try expect(rule, Self.history("start", "a", "kill", "start", "b"))
        try expect(rule, Self.history("start", "a", "kill", "start", "b", "kill", "start"), owed: 1)
        // A start that was killed before it came to it owes nothing; the one behind it does.
        try expect(rule, Self.history("start", "a", "kill", "start", "kill", "start", "b"))
        try expect(
            "after peer prints \"a\" restart prints \"b\"", Self.history("start", "peer: a", "kill", "start"), owed: 1)
    }

    @Test("What a restart must not show breaks the rule at once, in any later start")
    func restartNever() throws {
        let rule = "after prints \"a\" restart never air pairing"
        try expect(rule, Self.history("start", "a", "air: pairing", "kill", "start"))
        try expect(rule, Self.history("start", "a", "kill", "start", "kill", "start", "air: pairing"), broken: 1)
        try expect(rule, Self.history("start", "kill", "start", "a", "air: pairing"))
    }

    @Test("What must not follow breaks the rule in the same start too")
    func afterNever() throws {
        try expect("after prints \"a\" never prints \"b\"", Self.history("start", "b", "a"))
        try expect("after prints \"a\" never prints \"b\"", Self.history("start", "a", "b"), broken: 1)
        try expect("never prints \"b*\"", Self.history("start", "a", "bad"), broken: 1)
        try expect("never peer prints \"bad\"", Self.history("start", "bad"))
    }

    @Test("The last cause wants an answer; one that was read a moment before it is its own")
    func when() throws {
        let rule = "when peer prints \"rang\" then prints \"heard\""
        try expect(rule, Self.history("start", "heard"))
        try expect(rule, Self.history("start", "peer: rang"), owed: 1)
        try expect(rule, Self.history("start", "peer: rang", "heard"))
        try expect(rule, Self.history("start", "heard", "peer: rang"))
        try expect(rule, Self.history("start", "heard", "a", "a", "a", "a", "a", "peer: rang"), owed: 1)
        try expect(rule, Self.history("start", "peer: rang", "heard", "kill", "start", "peer: rang"), owed: 1)
        // The first answer belongs to the first cause, and not to both.
        try expect(rule, Self.history("start", "heard", "peer: rang", "peer: rang"), owed: 1)
    }

    @Test("A life is excused by what it showed, and by nothing else")
    func excused() throws {
        let rules = try AppRulesParser.parse("until prints \"goal\"\nexcuse prints \"known\"")
        #expect(try AppJudge.excuse(Self.history("start", "known"), by: rules) == 2)
        #expect(try AppJudge.excuse(Self.history("start", "goal"), by: rules) == nil)
    }

    @Test("Who ends without a kill breaks the promise that nobody writes down")
    func deaths() throws {
        var history = try Self.history("start", "goal")
        history.deaths = ["the program ended by itself, by signal 4"]
        let verdict = AppJudge.judge(history, by: try AppRulesParser.parse("until prints \"goal\""))
        #expect(verdict.broken.map(\.line) == [0])
    }
}
