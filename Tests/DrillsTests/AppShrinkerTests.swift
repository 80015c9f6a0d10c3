import Testing

@testable import Drills

@Suite("The least that breaks a rule of somebody's program") struct AppShrinkerTests {
    /// A result as a life with these faults would have it, with every kill at its call.
    private static func result(_ plan: AppPlan, isViolated: Bool) -> AppResult {
        var result = AppResult(plan: plan, calls: [1_000])
        if isViolated { result.findings = [AppJudge.Finding(line: 7, text: "broken")] }
        var run = 0
        for fault in plan.faults {
            let call: String? = if case .call = fault.moment { "read" } else { nil }
            result.history.struck.append(
                AppHistory.Struck(fault: fault, at: 0, call: call, hasTakenLink: false, run: run))
            if fault.kind == .kill { run += 1 }
        }
        return result
    }

    private static func shrink(_ faults: String, isViolated: @escaping ([AppFault]) -> Bool) throws -> AppResult {
        let whole = result(AppPlan(faults: []), isViolated: false)
        let shrinker = AppShrinker(whole: whole) { $0.map { result($0, isViolated: isViolated($0.faults)) } }
        return try shrinker.shrink(result(AppPlan(faults: try AppFault.list(faults)), isViolated: true))
    }

    /// Whether one of the kills comes at this call or later.
    private static func isKilled(_ faults: [AppFault], from first: Int) -> Bool {
        faults.contains { fault in
            guard fault.kind == .kill else { return false }
            if case .call(let number) = fault.moment { return number >= first }
            return true
        }
    }

    @Test(
        "Of many faults the kill is left that breaks it alone, at the first call that does",
        arguments: [1, 2, 613, 900, 1_000])
    func alone(first: Int) throws {
        let least = try Self.shrink("cut@3,kill@1000,unplug@5,kill@end") { Self.isKilled($0, from: first) }
        #expect(least.plan.text == "kill@\(first)")
        #expect(least.text == "kill@\(first) (read)")
        #expect(least.isViolated)
    }

    @Test("A single kill when nothing is owed any more becomes one at a call")
    func fromEnd() throws {
        #expect(try Self.shrink("kill@end") { Self.isKilled($0, from: 77) }.plan.text == "kill@77")
        // One that breaks nothing before stays as it is.
        #expect(try Self.shrink("kill@end") { $0 == [AppFault(.kill, .end)] }.plan.text == "kill@end")
    }

    @Test("A life that is shorter than the one without faults ends the search from above, and not from below")
    func shorter() throws {
        // The life without faults made 1,000 calls. These make 130: a kill at a later call comes when nothing is owed any more.
        let whole = Self.result(AppPlan(faults: []), isViolated: false)
        let shrinker = AppShrinker(whole: whole) { plans in
            plans.map { plan in
                var result = Self.result(plan, isViolated: Self.isKilled(plan.faults, from: 120))
                for index in result.history.struck.indices where Self.isKilled(plan.faults, from: 131) {
                    result.history.struck[index].call = nil
                }
                return result
            }
        }
        let found = Self.result(AppPlan(faults: [AppFault(.kill, .end)]), isViolated: true)
        #expect(try shrinker.shrink(found).text == "kill@120 (read)")
    }

    @Test("Where two faults are needed two are left, and a lost link alone stays a lost link")
    func several() throws {
        let two = try Self.shrink("cut@3,kill@90,peer@5,kill@80") { faults in
            faults.contains { $0.kind == .cut } && faults.contains { $0.kind == .kill }
        }
        #expect(two.plan.text == "cut@3,kill@80")
        #expect(try Self.shrink("kill@90,cut@8") { $0.contains { $0.kind == .cut } }.plan.text == "cut@end")
    }

    @Test("A kill of a later start is looked for behind the same line of the first")
    func landmark() throws {
        var whole = Self.result(AppPlan(faults: []), isViolated: false)
        whole.history.seen = [AppHistory.Seen(at: 1, run: 0, calls: 600, what: .line(.program, "listening"))]
        var found = Self.result(AppPlan(faults: try AppFault.list("kill@5,kill@440")), isViolated: true)
        found.history.seen = [AppHistory.Seen(at: 1, run: 1, calls: 400, what: .line(.program, "listening"))]
        let shrinker = AppShrinker(whole: whole) { $0.map { _ in whole } }
        #expect(shrinker.singles(of: found).map(\.text) == ["kill@640", "kill@5", "kill@end"])
    }

    @Test("What does not break again is given back as it was found, and it is not tried for ever")
    func unrepeatable() throws {
        var plays = 0
        let whole = Self.result(AppPlan(faults: []), isViolated: false)
        let found = Self.result(AppPlan(faults: try AppFault.list("kill@5,cut@6,kill@7,cut@8")), isViolated: true)
        let shrinker = AppShrinker(whole: whole) {
            plays += $0.count
            return $0.map { Self.result($0, isViolated: false) }
        }
        #expect(try shrinker.shrink(found) == found)
        #expect(plays <= AppShrinker.playsMaximum)
    }
}
