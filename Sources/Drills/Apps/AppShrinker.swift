/// Finds the fewest faults of a life that still break a rule of those that it broke.
struct AppShrinker {
    /// At which call a life without faults printed what: a kill of a later start is looked for behind the same line of the first.
    let whole: AppHistory
    /// Plays a plan; nil when there is no more time.
    let play: (AppPlan) throws -> AppResult?

    /// Lives differ by some calls: a plan counts as harmless when it broke nothing so many times.
    static let attempts = 2
    static let playsMaximum = 40

    func shrink(_ found: AppResult) throws -> AppResult {
        var least = found
        let lines = Set(found.findings.map(\.line))
        var plays = 0
        func breaks(_ plan: AppPlan) throws -> AppResult? {
            for _ in 0..<Self.attempts where plays < Self.playsMaximum {
                plays += 1
                guard let result = try play(plan) else { return nil }
                if result.findings.contains(where: { lines.contains($0.line) }) { return result }
            }
            return nil
        }
        for plan in singles(of: found) {
            if let result = try breaks(plan) { return result }
        }
        var index = 0
        while least.plan.faults.count > 1, index < least.plan.faults.count {
            var fewer = least.plan
            fewer.faults.remove(at: index)
            // Without a kill the rest of its start counts on: only lists that can be written down are tried.
            guard (try? AppFault.list(AppFault.text(fewer.faults))) != nil, let result = try breaks(fewer) else {
                index += 1
                continue
            }
            least = result
            index = 0
        }
        return least
    }

    /// One fault each, kills first, the likeliest first.
    func singles(of found: AppResult) -> [AppPlan] {
        guard found.plan.faults.count > 1 else { return [] }
        var faults: [AppFault] = []
        for struck in found.history.struck.reversed() where struck.fault.kind == .kill {
            if struck.run == 0 { faults.append(struck.fault) }
            if let call = callOfFirstStart(struck, found.history) { faults.append(AppFault(.kill, .call(call))) }
        }
        faults.append(AppFault(.kill, .end))
        for struck in found.history.struck where struck.fault.kind != .kill {
            faults.append(struck.run == 0 ? struck.fault : AppFault(struck.fault.kind, .end))
        }
        var plans: [AppPlan] = []
        for fault in faults {
            let plan = AppPlan(faults: [fault], side: found.plan.side)
            if !plans.contains(plan) { plans.append(plan) }
        }
        return plans
    }

    /// The call of a first start that is as far behind the same line as the kill was.
    private func callOfFirstStart(_ struck: AppHistory.Struck, _ history: AppHistory) -> Int? {
        guard case .call(let number) = struck.fault.moment, struck.call != nil else { return nil }
        let before = history.seen.last { seen in
            if case .line(.program, _) = seen.what { return seen.run == struck.run && seen.calls <= number }
            return false
        }
        guard let before, let same = whole.seen.first(where: { $0.what == before.what }) else { return nil }
        let call = same.calls + number - before.calls
        return (1...AppFault.maximumCall).contains(call) ? call : nil
    }
}
