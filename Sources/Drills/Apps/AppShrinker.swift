/// Finds the least that still breaks a rule that a life broke: one fault where one is enough, and of kills the earliest.
struct AppShrinker {
    /// A life without faults: how many calls it made, and at which it printed what.
    let whole: AppResult
    /// Plays these, at the same time as far as that goes; the results in their order.
    let play: ([AppPlan]) throws -> [AppResult]

    /// Lives differ by some calls: a plan counts as harmless when it broke nothing so many times.
    static let attempts = 2
    static let playsMaximum = 100
    /// Into so many parts and one the calls before a kill are cut at once.
    private static let probes = 8

    func shrink(_ found: AppResult) throws -> AppResult {
        var search = Search(lines: Set(found.findings.map(\.line)), play: play)
        let least = try single(found, &search) ?? fewer(found, &search)
        return try earliest(least, &search)
    }

    /// What is looked for, and how much of it has been played.
    private struct Search {
        let lines: Set<Int>
        let play: ([AppPlan]) throws -> [AppResult]
        private var plays = 0

        init(lines: Set<Int>, play: @escaping ([AppPlan]) throws -> [AppResult]) {
            self.lines = lines
            self.play = play
        }

        /// The first of these plans that breaks a rule of those.
        mutating func first(of plans: [AppPlan], attempts: Int = AppShrinker.attempts) throws -> AppResult? {
            let all = plans.flatMap { Array(repeating: $0, count: attempts) }
            guard !all.isEmpty, plays + all.count <= AppShrinker.playsMaximum else { return nil }
            plays += all.count
            return try play(all).first { $0.findings.contains { lines.contains($0.line) } }
        }
    }

    /// nil where several faults are needed.
    private func single(_ found: AppResult, _ search: inout Search) throws -> AppResult? {
        found.plan.faults.count > 1 ? try search.first(of: singles(of: found)) : found
    }

    /// One fault less, for as long as that still breaks it.
    private func fewer(_ found: AppResult, _ search: inout Search) throws -> AppResult {
        var least = found
        while least.plan.faults.count > 1 {
            let fewer = least.plan.faults.indices.map { index in
                var plan = least.plan
                plan.faults.remove(at: index)
                return plan
            }
            // Without a kill the rest of its start counts on: only lists that can be written down are tried.
            let possible = fewer.filter { (try? AppFault.list(AppFault.text($0.faults))) != nil }
            guard let result = try search.first(of: possible) else { break }
            least = result
        }
        return least
    }

    /// Cuts the calls before a single kill into parts until it is found where its life begins to break. Whatever it ends with has
    /// been played.
    private func earliest(_ least: AppResult, _ search: inout Search) throws -> AppResult {
        guard least.plan.faults.count == 1, let fault = least.plan.faults.first, fault.kind == .kill else {
            return least
        }
        var least = least
        var (harmless, harmful) = (0, (whole.calls.first ?? 0) + 1)
        if case .call(let number) = fault.moment { harmful = number }
        while harmful - harmless > 1 {
            let step = max(1, (harmful - harmless) / (Self.probes + 1))
            let numbers = Array(stride(from: harmless + step, to: harmful, by: step).prefix(Self.probes))
            let plans = numbers.map { AppPlan(faults: [AppFault(.kill, .call($0))], side: least.plan.side) }
            guard let result = try search.first(of: plans, attempts: 1), let index = plans.firstIndex(of: result.plan)
            else {
                harmless = numbers.last ?? harmful
                continue
            }
            // Lives differ in length: one that ended before its call was killed at its end, which is what was found.
            if result.kills.first?.call != nil { least = result }
            harmful = numbers[index]
            if index > 0 { harmless = numbers[index - 1] }
        }
        return least
    }

    /// One fault each, kills first, the likeliest first.
    func singles(of found: AppResult) -> [AppPlan] {
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

    /// The call of a first start that is as far behind the same line as the kill of a later start was.
    private func callOfFirstStart(_ struck: AppHistory.Struck, _ history: AppHistory) -> Int? {
        guard struck.run > 0, case .call(let number) = struck.fault.moment, struck.call != nil else { return nil }
        let before = history.seen.last { seen in
            if case .line(.program, _) = seen.what { return seen.run == struck.run && seen.calls <= number }
            return false
        }
        guard let before, let same = whole.history.seen.first(where: { $0.what == before.what }) else { return nil }
        let call = same.calls + number - before.calls
        return (1...AppFault.maximumCall).contains(call) ? call : nil
    }
}
