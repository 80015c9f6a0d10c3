import Testing

@testable import Drills

@Suite("The schedule") struct ScheduleTests {
    @Test("The same seed makes the same decisions, another one others")
    func deterministic() {
        #expect(Schedule(seed: 7, killsPerRole: 25) == Schedule(seed: 7, killsPerRole: 25))
        #expect(Schedule(seed: 7, killsPerRole: 25).plans != Schedule(seed: 8, killsPerRole: 25).plans)
    }

    @Test("From three kills of each role on, every phase is aimed at", arguments: 3...30)
    func coverage(kills: Int) {
        for seed in 0..<50 as Range<UInt64> {
            let schedule = Schedule(seed: seed, killsPerRole: kills)
            #expect(schedule.phases == Set(Phase.allCases))
            for role in Role.allCases { #expect(schedule.plans.count { $0.role == role } == kills) }
            let shares = Dictionary(grouping: schedule.plans, by: \.phase).mapValues(\.count).values
            #expect((shares.max() ?? 0) - (shares.min() ?? 0) <= 2)
        }
    }

    @Test("Half of the kills are made at a system call", arguments: [4, 10, 25])
    func halves(kills: Int) {
        let plans = Schedule(seed: 1, killsPerRole: kills).plans
        let count = plans.count { if case .systemCall = $0.means { true } else { false } }
        #expect(count == kills)
    }

    @Test("Enrolments come first, and what is between commit and act is hit by a system call")
    func order() {
        let plans = Schedule(seed: 5, killsPerRole: 25).plans
        let enrolments = plans.count { $0.phase == .enrolment }
        #expect(plans.prefix(enrolments).allSatisfy { $0.phase == .enrolment })
        for plan in plans where plan.phase == .committed {
            guard case .systemCall = plan.means else {
                Issue.record("\(plan)")
                continue
            }
        }
    }

    @Test("Every interrupted enrolment beyond the first has a household of its own, and no kill is left out")
    func households() throws {
        let schedule = Schedule(seed: 3, killsPerRole: 25)
        let households = schedule.households
        let first = try #require(households.first)
        #expect(first.plans.count { $0.phase == .enrolment } == 1)
        #expect(first.phases == Set(Phase.allCases))
        for household in households.dropFirst() {
            #expect(household.plans.map(\.phase) == [.enrolment])
            #expect(household.phases.isEmpty)
        }
        #expect(households.count > 4)
        #expect(households.flatMap(\.plans).count == schedule.plans.count)
        #expect(Set(households.flatMap(\.plans)) == Set(schedule.plans))
    }

    @Test("Some openings stay committed and unmade past their deadline", arguments: [3, 4, 6, 10, 25])
    func late(kills: Int) {
        for seed in 0..<50 as Range<UInt64> {
            #expect(
                Schedule(seed: seed, killsPerRole: kills).plans.contains {
                    $0.role == .lock && $0.phase == .committed && $0.means == .systemCall("write", number: 1)
                        && $0.opens && $0.downMilliseconds == Schedule.pastDeadlineMilliseconds
                })
        }
    }
}

@Suite("Options") struct OptionsTests {
    @Test("Everything at once")
    func all() throws {
        let parsed = try DrillOptions.parse([
            "--kills", "25", "--seed=9", "--json", "--report", "out", "--separate", "--plant", "late", "--latch",
            "./latch",
        ])
        var expected = DrillOptions()
        (expected.kills, expected.seed, expected.isJSON) = (25, 9, true)
        (expected.report, expected.isSeparate, expected.plant) = ("out", true, .late)
        expected.latch = "./latch"
        #expect(parsed == .run(expected))
        #expect(try DrillOptions.parse(["--help"]) == .help)
    }

    @Test(
        "What is wrong is refused",
        arguments: [
            ["--kills", "0"], ["--kills", "1001"], ["--kills"], ["--kills", "x"], ["--seed", "-1"], ["--seed", "-0"],
            ["--seed", "+1"],
            ["--plant", "fire"], ["--latch"],
            ["--json", "--json"], ["--json=1"], ["--unknown"], ["out"],
        ])
    func wrong(words: [String]) {
        #expect(throws: DrillOptions.UsageError.self) { try DrillOptions.parse(words) }
    }
}
