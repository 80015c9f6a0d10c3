import CLinux
import Glibc

/// `latch-lab drill syscalls`, from its options to its exit status.
struct SystemCallDrill: Sendable {
    let options: SystemCallOptions
    let seed: UInt64
    /// Where the summary or the JSON goes.
    let output: @Sendable (String) -> Void

    private static let jobsPerCore = 4

    init(options: SystemCallOptions, output: @escaping @Sendable (String) -> Void) {
        self.options = options
        self.output = output
        seed = options.seed ?? options.ledger.flatMap(CallLedger.seed) ?? UInt64.random(in: 0...UInt64(UInt32.max))
    }

    func run() -> Int32 {
        do {
            return try runOrThrow()
        } catch {
            Progress().say("latch-lab drill: \(error)")
            return (error as? DrillError)?.kind == .interrupted ? 1 : 4
        }
    }

    private func runOrThrow() throws -> Int32 {
        let programs = try Programs(latch: options.latch)
        // Signals are taken in this thread first, so that those it starts leave them alone.
        let waiter = try Waiter()
        Progress().say("drill syscalls: seed \(seed)")
        let ledger = try options.ledger.map { try CallLedger($0, seed: seed, plant: options.plant) }
        defer { ledger?.close() }
        let template = try HouseTemplate(programs: programs, seed: seed, waiter: waiter)
        defer { template.remove() }
        let whole = try options.roles.map { try wholeLife($0, programs, template, waiter) }
        let counts = Dictionary(uniqueKeysWithValues: zip(options.roles, whole.map(\.names.count)))
        if options.isCounting { return conclude(counting: zip(options.roles, whole.map(\.names))) }
        let results = (ledger?.results ?? []) + whole.map(\.result).filter { $0.verdict == .violated }
        let queue = CallQueue(counts, results: results, options: options, seed: seed, ledger: ledger)
        let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        try Threads.run(options.jobs ?? cores * Self.jobsPerCore) {
            work(queue, programs, template)
        }
        let (all, failure) = queue.outcome
        let tally = CallTally(seed: seed, plant: options.plant, counts: counts, results: all)
        output(options.isJSON ? tally.jsonText + "\n" : tally.summary)
        if let failure { throw failure }
        return tally.isOK ? 0 : 1
    }

    /// One thread's share: each has a waiter of its own, and its children end with it.
    private func work(_ queue: CallQueue, _ programs: Programs, _ template: HouseTemplate) {
        do {
            let waiter = try Waiter()
            while let point = queue.next() {
                let (result, run, directory) = try play(point, programs, template, waiter)
                var next: CallPoint?
                if options.downMilliseconds == nil, point.downMilliseconds == 0, run.hasOpeningBetweenCommitAndAct {
                    next = point
                    next?.downMilliseconds = CallPoint.pastDeadlineMilliseconds
                }
                queue.add(result, followedBy: next, keptIn: directory)
            }
        } catch {
            queue.fail(error as? DrillError ?? DrillError(.environment, "\(error)"))
        }
    }

    /// A life that nobody cuts short, for the number of its calls; it has to keep every promise too.
    private func wholeLife(_ role: Role, _ programs: Programs, _ template: HouseTemplate, _ waiter: Waiter) throws -> (
        names: [String], result: CaseResult
    ) {
        let point = CallPoint(role: role, side: options.side, number: 0)
        var names: [String] = []
        let (result, _, directory) = try play(point, programs, template, waiter) { names = $0.callNames }
        if let directory {
            Progress().say("a \(role.rawValue) that nobody killed: \(result.violations.joined(separator: "; "))")
            Progress().say("  everything is kept in \(directory)")
        }
        return (names, result)
    }

    private func play(
        _ point: CallPoint, _ programs: Programs, _ template: HouseTemplate, _ waiter: Waiter,
        _ look: (CallCase) -> Void = { _ in }
    ) throws -> (CaseResult, CaseHistory, String?) {
        let directory = try DrillDirectory(isSeparate: false)
        try template.furnish(directory)
        let household = try CaseHousehold.make(directory, programs: programs, seed: seed, waiter: waiter)
        let run = try CallCase(point, household, template, waiter: waiter)
        try run.run()
        look(run)
        let history = run.history
        let violations = CaseJudge.violations(of: history).map(\.description)
        let restart = history.restart
        let result = CaseResult(
            point: point,
            verdict: !violations.isEmpty ? .violated : run.call == nil && point.number > 0 ? .beyond : .ok,
            call: run.call,
            restoreMicroseconds: restart.flatMap { restart in restart.restoredAt.map { ($0 - restart.at) / 1000 } },
            milliseconds: (history.ended - history.began) / 1_000_000, violations: violations)
        if violations.isEmpty { directory.remove() }
        return (result, history, violations.isEmpty ? nil : directory.path)
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
