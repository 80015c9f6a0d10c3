import Testing

@testable import Drills

@Suite("The rules of somebody's program") struct AppRulesTests {
    @Test("A pattern is a whole line, with a star for anything")
    func patterns() {
        for (pattern, line, isMatch) in [
            ("heard: ding", "heard: ding", true), ("heard: ding", "heard: ding dong", false),
            ("heard: *", "heard: ding", true), ("heard: *", "heard: ", true), ("heard: *", "heard", false),
            ("*ding", "heard: ding", true), ("*", "", true), ("a*b*c", "a-b-b-c", true), ("a*b*c", "a-c-b", false),
            ("a*a", "a", false), ("", "", true), ("", "a", false), ("é*", "été", true), ("a**b", "ab", true),
        ] {
            #expect(AppPattern(pattern).matches(line) == isMatch, "\(pattern) and \(line)")
        }
    }

    @Test("Every rule is read, with its line")
    func rules() throws {
        let rules = try AppRulesParser.parse(
            """
            # A program.
            peer program Doorbell --loud "two words"
            environment LATCH_PAIRING=refused

            until prints "heard: \\"ding\\""   # the goal
            again peer prints "rang"
            within 7 seconds
            never prints "oops*"
            after prints "a" restart prints "b"
            after prints "a" restart never air pairing
            after air encrypted never prints "c"
            when peer prints "d" then prints "e"
            excuse prints "f"
            """)
        #expect(rules.peer == ["Doorbell", "--loud", "two words"])
        #expect(rules.environment == ["LATCH_PAIRING": "refused"])
        #expect(rules.goal == .prints(.program, AppPattern("heard: \"ding\"")))
        #expect(rules.goalLine == 5)
        #expect(rules.again == .prints(.peer, AppPattern("rang")))
        #expect(rules.withinSeconds == 7)
        func program(_ text: String) -> AppRules.Sight { .prints(.program, AppPattern(text)) }
        #expect(rules.lines.map(\.number) == Array(8...13))
        #expect(
            rules.lines.map(\.rule) == [
                .never(program("oops*")), .restart(after: program("a"), then: program("b")),
                .restartNever(after: program("a"), never: .air(.pairing)),
                .afterNever(.air(.encrypted), never: program("c")),
                .when(.prints(.peer, AppPattern("d")), then: program("e")), .excuse(program("f")),
            ])
        #expect(rules.lines.first?.text == "never prints \"oops*\"")
    }

    @Test("What cannot be read is told with its line and what to write instead")
    func refused() {
        for (text, line, wanted) in [
            ("until prints \"a\"\nperhaps \"b\"", 2, "`perhaps` is no rule"), ("never prints \"a\"", 1, "no `until`"),
            ("until prints a", 1, "double quotes"), ("until prints \"a", 1, "has no end"),
            ("until prints \"a\" \"b\"", 1, "too much"),
            ("until prints \"a\"\nuntil prints \"b\"", 2, "line 1 already"),
            ("until air raid", 1, "one of advertising"), ("peer Doorbell", 1, "`program`"),
            ("peer program", 1, "a name"),
            ("within 0 seconds", 1, "from 1 to"), ("within +7 seconds", 1, "from 1 to"),
            ("environment =a", 1, "a name and a value"),
            ("\"a\"", 1, "begins with"),
            ("after prints \"a\" prints \"b\"", 1, "`restart` or `never`"),
            ("when prints \"a\" prints \"b\"", 1, "`then`"),
        ] {
            let error = #expect(throws: AppRulesError.self, "\(text)") { try AppRulesParser.parse(text) }
            #expect(error?.line == line, "\(text)")
            #expect(error?.message.contains(wanted) == true, "\(text): \(error?.message ?? "")")
        }
        let long = String(repeating: "#\n", count: AppRulesParser.maximumLines)
        #expect(throws: AppRulesError.self) { try AppRulesParser.parse(long) }
    }

    // MARK: The command line

    private static func options(_ words: String...) throws -> AppOptions {
        guard case .run(let options) = try AppOptions.parse(words) else { throw CancellationError() }
        return options
    }

    @Test("Options are read, what is wrong is named, and behind -- all is the program's")
    func options() throws {
        let options = try Self.options(
            "--rules", "r", "--kills", "every", "--storms=3", "--from", "5", "--to", "9", "--at", "exit", "--seed", "7",
            "--", "./Visitor", "--json")
        #expect(options.program == ["./Visitor", "--json"])
        #expect(!options.isJSON)
        let plans = options.plans(calls: 100, restoredCalls: 50, hasPeer: true, seed: 7)
        #expect(plans.suffix(5).map(\.text) == ["kill@5", "kill@6", "kill@7", "kill@8", "kill@9"])
        #expect(plans.count == 8)
        #expect(plans.allSatisfy { $0.side == .exit })
        for (words, wrong) in [
            ([String](), "a program is needed"), (["--"], "a program is needed"),
            (["--kills", "some", "--", "a"], "--kills"), (["--kills", "+3", "--", "a"], "--kills"),
            (["--faults", "kill@+7", "--", "a"], "kill@+7"),
            (["--from", "9", "--to", "8", "--", "a"], "--to"), (["--faults", "kill@0", "--", "a"], "kill@0"),
            (["--faults", "kil@1", "--", "a"], "kil@1"), (["--faults", "cut@9,kill@3", "--", "a"], "kill@3"),
            (["--faults", "cut@end,kill@3", "--", "a"], "kill@3"), (["--bogus", "--", "a"], "--bogus"),
        ] {
            let error = #expect(throws: DrillOptions.UsageError.self) { try AppOptions.parse(words) }
            #expect(error?.message.contains(wrong) == true, "\(words): \(error?.message ?? "")")
        }
    }

    @Test("The command line of a life comes back to that life alone")
    func replay() throws {
        let options = try Self.options("--kills", "4", "--", "./a b", "it's")
        let plan = AppPlan(faults: try AppFault.list("cut@7,kill@90,peer@end"), side: .exit)
        let line = options.replay(plan, rules: "r.drill", seed: 3)
        #expect(line.hasSuffix("--seed 3 -- './a b' 'it'\\''s'"))
        let again = try AppOptions.parse(
            line.split(separator: " ").prefix { $0 != "--" }.dropFirst(3).map(String.init) + ["--", "./a b", "it's"])
        guard case .run(let read) = again else {
            Issue.record("no options")
            return
        }
        #expect(read.plans(calls: 10, restoredCalls: 10, hasPeer: true, seed: 3) == [plan])
        #expect(read.seed == 3)
    }

    @Test("A seed makes the same lives again; each storm has a kill, and is a list that can be written down")
    func drawn() throws {
        func draw(_ seed: UInt64) -> [AppPlan] {
            AppPlan.draw(
                kills: 10, storms: 50, calls: 1...1_000, restoredCalls: 600, side: .entry, hasPeer: true, seed: seed)
        }
        #expect(draw(5) == draw(5))
        #expect(draw(5) != draw(6))
        for plan in draw(5) {
            #expect(plan.faults.contains { $0.kind == .kill })
            #expect(try AppFault.list(AppFault.text(plan.faults)) == plan.faults)
        }
        #expect(Set(draw(5).flatMap(\.faults).map(\.kind)) == Set(AppFault.Kind.allCases))
    }
}
