import Glibc

/// `latch-lab drill app`, from its options to its exit status.
struct AppDrill: Sendable {
    let options: AppOptions
    let seed: UInt64
    /// Where the summary or the JSON goes.
    let output: @Sendable (String) -> Void

    private static let jobsPerCore = 8
    private static let shrunkMaximum = 3

    init(options: AppOptions, output: @escaping @Sendable (String) -> Void) {
        self.options = options
        self.output = output
        seed = options.seed ?? DrillSeed.fresh
    }

    /// What every life needs, and no life changes.
    private struct Bench: Sendable {
        let lab: String
        let rules: AppRules
        let guests: [AppSide: AppGuest]
        let seed: UInt64

        func play(_ plan: AppPlan, _ waiter: Waiter) throws -> (result: AppResult, callNames: [String]) {
            let directory = try DrillDirectory(isSeparate: false)
            do {
                let house = try AppHouse(
                    directory, lab: lab, guests: guests, rules: rules, seed: seed, waiter: waiter)
                let life = try AppCase(plan, rules, house, waiter: waiter)
                let findings = try life.run()
                if findings.isEmpty { directory.remove() }
                let result = AppResult(
                    plan: plan, findings: findings, history: life.history, calls: life.calls,
                    directory: findings.isEmpty ? nil : directory.path)
                return (result, life.callNames)
            } catch let error as DrillError {
                if error.kind == .interrupted { directory.remove() }
                throw error
            }
        }
    }

    func run() throws -> Int32 {
        // Signals are taken in this thread first, so that those it starts leave them alone.
        let waiter = try Waiter()
        let program = try AppGuest(options.program, for: "the program")
        let file = options.rules ?? program.path + ".drill"
        let bench = try bench(program, file)
        Progress().say("drill app: seed \(seed)")
        let (whole, names) = try bench.play(AppPlan(faults: [], side: options.side), waiter)
        guard !whole.isViolated else { return conclude(failedWhole: whole, file) }
        if options.isCounting { return conclude(counting: names) }
        let results = try play(bench, whole, waiter)
        let failures = try shrink(results.filter(\.isViolated), whole, bench)
        let tally = AppTally(
            options: options, rules: bench.rules, file: file, seed: seed, whole: whole, results: results,
            failures: failures)
        try tally.tell(isJSON: options.isJSON, report: options.report, output: output)
        return tally.isOK ? 0 : 1
    }

    private func bench(_ program: AppGuest, _ file: String) throws -> Bench {
        guard access(file, R_OK) == 0 else {
            throw DrillOptions.UsageError(
                message:
                    "\(file): \(String(cString: strerror(errno))): write what the program promises there, or name another "
                    + "file with `--rules FILE`")
        }
        let rules: AppRules
        do throws(AppRulesError) {
            rules = try AppRulesParser.parse(String(decoding: DrillDirectory.read(file), as: UTF8.self))
        } catch {
            throw DrillOptions.UsageError(message: "\(file):\(error.line): \(error.message)")
        }
        var guests = [AppSide.program: program]
        if let words = rules.peer {
            guests[.peer] = try AppGuest(words, folders: [program.folder], for: "\(file): the peer")
        }
        guard let lab = realpath("/proc/self/exe", nil) else { throw DrillError.system("cannot find this program") }
        defer { free(lab) }
        return Bench(lab: String(cString: lab), rules: rules, guests: guests, seed: seed)
    }

    /// Plays the lives. The first one is killed at its end, which shows how many calls a restored start makes.
    private func play(_ bench: Bench, _ whole: AppResult, _ waiter: Waiter) throws -> [AppResult] {
        var results: [AppResult] = []
        if options.faults == nil {
            results.append(try bench.play(AppPlan(faults: [AppFault(.kill, .end)], side: options.side), waiter).result)
        }
        let calls = whole.calls.first ?? 0
        guard options.faults != nil || options.from <= options.to ?? calls else {
            throw DrillOptions.UsageError(message: "option `--from`: a whole life makes \(calls) calls only")
        }
        let plans = options.plans(
            calls: calls, restoredCalls: results.first?.calls.last ?? 0,
            hasPeer: bench.rules.peer != nil, seed: seed)
        return results + (try playAll(plans, isTold: true, bench))
    }

    /// All of these, by so many threads as suit the machine; the results are in the order of the plans.
    private func playAll(_ plans: [AppPlan], isTold: Bool, _ bench: Bench) throws -> [AppResult] {
        let queue = CaseQueue(AppLives(plans), isTold: isTold)
        let jobs = min(options.jobs ?? Threads.cores * Self.jobsPerCore, max(plans.count, 1))
        try queue.playAll(jobs: jobs) { plan, waiter in
            let result = try bench.play(plan, waiter).result
            return (result, result.directory)
        }
        let (results, failure) = queue.outcome
        if let failure { throw failure }
        return results
    }

    /// Lives that broke the same rules are alike: the first of them is shrunk, unless it is one kill at a call already.
    private func shrink(
        _ broken: [AppResult], _ whole: AppResult, _ bench: Bench
    ) throws -> [AppFailure] {
        let shrinker = AppShrinker(whole: whole) { plans in
            let results = try playAll(plans, isTold: false, bench)
            for result in results { result.directory.map(DrillDirectory.remove) }
            return results
        }
        var told: Set<[Int]> = []
        let ordered = broken.sorted {
            ($0.plan.faults.count, $0.plan.isLeast ? 0 : 1) < ($1.plan.faults.count, $1.plan.isLeast ? 0 : 1)
        }
        return try ordered.map { found in
            let isNew = told.insert(found.findings.map(\.line).sorted()).inserted
            guard isNew, told.count <= Self.shrunkMaximum, !found.plan.isLeast else {
                return AppFailure(found: found, least: found)
            }
            Progress().say("looking for the least that breaks it: \(found.plan.text)")
            return AppFailure(found: found, least: try shrinker.shrink(found))
        }
    }

    // MARK: Ends before the first fault

    private func conclude(failedWhole whole: AppResult, _ file: String) -> Int32 {
        let progress = Progress()
        for finding in whole.findings { progress.say("VIOLATION \(finding.description)") }
        progress.say(
            "without any fault: the rules in \(file) do not fit the program, or it does not work on this radio")
        if !whole.history.seen.contains(where: { if case .line(.program, _) = $0.what { true } else { false } }) {
            progress.say(
                "it printed nothing: a buffered standard output is lost when a process is killed; write each line at once"
            )
        }
        if let directory = whole.directory { progress.say("everything is kept in \(directory)") }
        return 1
    }

    private func conclude(counting names: [String]) -> Int32 {
        let byName = Dictionary(grouping: names, by: { $0 }).mapValues(\.count)
        let sorted = byName.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        output("\(names.count) calls in a life\n")
        output(sorted.map { "  \($0.value) \($0.key)\n" }.joined())
        return 0
    }
}
