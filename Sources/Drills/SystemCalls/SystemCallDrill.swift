import CLinux
import Glibc

/// `latch-lab drill syscalls`, from its options to its exit status.
struct SystemCallDrill: Sendable {
    let options: SystemCallOptions
    let seed: UInt64
    /// Where the summary or the JSON goes.
    let output: @Sendable (String) -> Void

    private static let jobsPerCore = 4
    private static let repetitionsMaximum = 5

    init(options: SystemCallOptions, output: @escaping @Sendable (String) -> Void) {
        self.options = options
        self.output = output
        seed = options.seed ?? options.ledger.flatMap(CallLedger.seed) ?? SeededRandom.freshSeed
    }

    func run() throws -> Int32 {
        let programs = try Programs(latch: options.latch)
        // Signals are taken in this thread first, so that those it starts leave them alone.
        let waiter = try Waiter()
        Progress().say("drill syscalls: seed \(seed)")
        let ledger = try options.ledger.map { try CallLedger($0, seed: seed, plant: options.plant) }
        defer { ledger?.close() }
        let template = try HouseTemplate(programs: programs, seed: seed, waiter: waiter)
        defer { template.remove() }
        let witness = MachineWitness(directory: template.directory.path)
        let watch = try Threads([{ witness.watch() }])
        defer {
            witness.end()
            watch.join()
        }
        let house = House(programs: programs, template: template, witness: witness)
        let whole = try options.roles.map { try wholeLife($0, house, waiter) }
        let counts = Dictionary(uniqueKeysWithValues: zip(options.roles, whole.map(\.names.count)))
        if options.isCounting { return conclude(counting: zip(options.roles, whole.map(\.names))) }
        let results = (ledger?.results ?? []) + whole.map(\.result).filter { $0.verdict == .violated }
        let queue = CallQueue(counts, results: results, options: options, seed: seed, ledger: ledger)
        let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let jobs = options.jobs ?? cores * Self.jobsPerCore
        try Threads((0..<jobs).map { _ in { work(queue, house) } }).join()
        let (all, failure) = queue.outcome
        let tally = CallTally(seed: seed, plant: options.plant, counts: counts, results: all)
        output(options.isJSON ? tally.jsonText + "\n" : tally.summary)
        if let report = options.report {
            try Report(page: CallReport(tally: tally).text, json: tally.jsonText + "\n", junit: tally.junit)
                .write(to: report)
            Progress().say("report: \(report)/index.html")
        }
        if let failure = failure ?? witness.failure { throw failure }
        return tally.isOK ? 0 : 1
    }

    /// What every case needs, and no case changes.
    private struct House: Sendable {
        let programs: Programs
        let template: HouseTemplate
        let witness: MachineWitness
    }

    /// What one case leaves behind.
    private struct Played {
        let result: CaseResult
        let history: CaseHistory
        let callNames: [String]
        /// Where a case that failed keeps its files; nil for one that held.
        let directory: String?
        /// Whether nothing was broken but what has to happen by a time.
        let isOfTime: Bool
    }

    /// One thread's share: each has a waiter of its own, and its children end with it.
    private func work(_ queue: CallQueue, _ house: House) {
        do {
            let waiter = try Waiter()
            while let point = queue.next() {
                let played = try play(point, house, waiter)
                let next = point.otherChoice(withOpening: played.history.hasOpeningBetweenCommitAndAct)
                queue.add(played.result, followedBy: next, keptIn: played.directory)
            }
        } catch {
            queue.fail(error as? DrillError ?? DrillError(.environment, "\(error)"))
        }
    }

    /// A life that nobody cuts short, for the number of its calls; it has to keep every promise too.
    private func wholeLife(_ role: Role, _ house: House, _ waiter: Waiter) throws -> (
        names: [String], result: CaseResult
    ) {
        let played = try play(CallPoint(role: role, side: options.side, number: 0), house, waiter)
        if let directory = played.directory {
            Progress().say("a \(role.rawValue) that nobody killed: \(played.result.violations.joined(separator: "; "))")
            Progress().say("  everything is kept in \(directory)")
        }
        return (played.callNames, played.result)
    }

    /// Plays a point, and again while the machine stood still in a case that failed by its time, and by nothing else.
    private func play(_ point: CallPoint, _ house: House, _ waiter: Waiter) throws -> Played {
        for _ in 0..<Self.repetitionsMaximum {
            let played = try playOnce(point, house, waiter)
            guard let directory = played.directory, played.isOfTime,
                let stall = house.witness.stall(from: played.history.began, to: played.history.ended)
            else { return played }
            Progress().say(
                "the machine stood still for \(stall / 1_000_000) ms: the \(point.role.rawValue) at call \(point.number) is "
                    + "killed again")
            DrillDirectory.remove(directory)
        }
        throw DrillError(
            .environment, "the machine stands still again and again: use an idle one, or name a quick disk in TMPDIR")
    }

    private func playOnce(_ point: CallPoint, _ house: House, _ waiter: Waiter) throws -> Played {
        let directory = try DrillDirectory(isSeparate: false)
        try house.template.furnish(directory)
        let household = try CaseHousehold.make(directory, programs: house.programs, seed: seed, waiter: waiter)
        let trace = try CallTrace(point.side, killAt: UInt64(point.number))
        let run = CaseRun(
            point.role, trace, down: point.down(withOpening:), household, house.template, waiter: waiter)
        try run.run()
        let history = run.history
        let found = CaseJudge.violations(of: history)
        let violations = found.map(\.description)
        let restart = history.restart
        let result = CaseResult(
            point: point,
            verdict: !violations.isEmpty ? .violated : trace.killedAt == nil && point.number > 0 ? .beyond : .ok,
            call: trace.killedAt,
            restoreMicroseconds: restart.flatMap { restart in restart.restoredAt.map { ($0 - restart.at) / 1000 } },
            milliseconds: (history.ended - history.began) / 1_000_000, violations: violations)
        if violations.isEmpty { directory.remove() }
        return Played(
            result: result, history: history, callNames: trace.names,
            directory: violations.isEmpty ? nil : directory.path, isOfTime: found.allSatisfy(\.isOfTime))
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
