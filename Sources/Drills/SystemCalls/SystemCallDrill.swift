/// `latch-lab drill syscalls`, from its options to its exit status.
struct SystemCallDrill: Sendable {
    let options: SystemCallOptions
    let seed: UInt64
    /// Where the summary or the JSON goes.
    let output: @Sendable (String) -> Void

    init(options: SystemCallOptions, output: @escaping @Sendable (String) -> Void) {
        self.options = options
        self.output = output
        seed = options.common.seed ?? options.ledger.flatMap(CallLedger.seed) ?? DrillSeed.fresh
    }

    func run() throws -> Int32 {
        let programs = try Programs(latch: options.common.latch)
        // Signals are taken in this thread first, so that those it starts leave them alone.
        let waiter = try Waiter()
        Progress().say("drill syscalls: seed \(seed)")
        let ledger = try options.ledger.map { try CallLedger($0, seed: seed, plant: options.common.plant) }
        defer { ledger?.close() }
        let template = try HouseTemplate(programs: programs, seed: seed, waiter: waiter)
        defer { template.remove() }
        return try CaseBench.with(programs, template, seed: seed) { bench in
            let whole = try options.common.roles.map { try wholeLife($0, bench, waiter) }
            let counts = Dictionary(uniqueKeysWithValues: zip(options.common.roles, whole.map(\.callNames.count)))
            if options.isCounting { return conclude(counting: zip(options.common.roles, whole.map(\.callNames))) }
            let results = (ledger?.results ?? []) + whole.map(\.result).filter(\.isViolated)
            let queue = CaseQueue(
                CallPlan(counts, results: results, options: options, seed: seed, ledger: ledger), earlier: results)
            try queue.playAll(jobs: options.common.households) { point, waiter in
                let played = try play(point, bench, waiter)
                return (played.outcome.result, played.directory)
            }
            let (all, failure) = queue.outcome
            let tally = CallTally(seed: seed, plant: options.common.plant, counts: counts, results: all)
            try tally.tell(isJSON: options.common.isJSON, report: options.common.report, output: output)
            if let failure = failure ?? bench.failure { throw failure }
            return tally.isOK ? 0 : 1
        }
    }

    private typealias Outcome = (result: CaseResult, callNames: [String])

    /// A life that nobody cuts short, for the number of its calls; it has to keep every promise too.
    private func wholeLife(_ role: Role, _ bench: CaseBench, _ waiter: Waiter) throws -> Outcome {
        let played = try play(CallPoint(role: role, side: options.side, number: 0), bench, waiter)
        if let directory = played.directory {
            let violations = played.outcome.result.violations
            Progress().say("a \(role.rawValue) that nobody killed: \(violations.joined(separator: "; "))")
            Progress().say("  everything is kept in \(directory)")
        }
        return played.outcome
    }

    private func play(_ point: CallPoint, _ bench: CaseBench, _ waiter: Waiter) throws -> CaseBench.Played<Outcome> {
        try bench.play("the \(point.role.rawValue) at call \(point.number) is killed again") {
            try playOnce(point, bench, waiter)
        }
    }

    private func playOnce(_ point: CallPoint, _ bench: CaseBench, _ waiter: Waiter) throws -> CaseBench.Played<Outcome>
    {
        let directory = try DrillDirectory(isSeparate: false)
        try bench.template.furnish(directory)
        let household = try bench.household(directory, waiter)
        let trace = try CallTrace(point.side, killAt: UInt64(point.number))
        let life = try bench.live(point.role, trace, down: point.down(withOpening:), household, waiter)
        let hasHeld = life.found.isEmpty
        let result = CaseResult(
            point: point,
            verdict: !hasHeld ? .violated : trace.killedAt == nil && point.number > 0 ? .beyond : .ok,
            call: trace.killedAt, restoreMicroseconds: life.restoreMicroseconds, milliseconds: life.milliseconds,
            violations: life.found.map(\.description), hadOpening: life.history.hasOpeningBetweenCommitAndAct)
        if hasHeld { directory.remove() }
        return CaseBench.Played(
            outcome: (result, trace.names), life: life, directory: hasHeld ? nil : directory.path,
            isOfTime: life.found.allSatisfy(\.isOfTime))
    }

    private func conclude(counting lives: some Sequence<(Role, [String])>) -> Int32 {
        for (role, names) in lives {
            let byName = Dictionary(grouping: names, by: { $0 }).mapValues(\.count)
            let sorted = byName.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            output("\(role.rawValue): \(names.count) calls in a life\n")
            output(sorted.map { "  \($0.value) \($0.key)\n" }.joined())
        }
        return 0
    }
}
