import CLinux
import Glibc

/// `latch-lab drill machine`, from its options to its exit status.
struct MachineDrill: Sendable {
    let options: MachineOptions
    let seed: UInt64
    /// Where the summary or the JSON goes.
    let output: @Sendable (String) -> Void

    private static let jobsPerCore = 4
    private static let repetitionsMaximum = 5

    init(options: MachineOptions, output: @escaping @Sendable (String) -> Void) {
        self.options = options
        self.output = output
        seed = options.seed ?? SeededRandom.freshSeed
    }

    func run() throws -> Int32 {
        let programs = try Programs(latch: options.latch)
        try CutDisk.ownMounts()
        // Signals are taken in this thread first, so that those it starts leave them alone.
        let waiter = try Waiter()
        Progress().say("drill machine: seed \(seed)")
        let template = try MachineTemplate(programs: programs, seed: seed, waiter: waiter)
        defer { template.remove() }
        let witness = MachineWitness(directory: template.house.directory.path)
        let watch = try Threads([{ witness.watch() }])
        defer {
            witness.end()
            watch.join()
        }
        let house = House(programs: programs, template: template, witness: witness)
        var counts: [Role: Int] = [:]
        for role in options.roles {
            let whole = try play(CutPoint(role: role, number: 0, choice: 0), house, waiter)
            guard whole.result.violations.isEmpty else {
                throw DrillError(
                    .environment,
                    "a life whose power nobody cuts breaks promises: \(whole.result.violations.joined(separator: "; "))"
                )
            }
            counts[role] = whole.count
        }
        let queue = CutQueue(options.points(counts), options: options, seed: seed)
        let jobs = options.jobs ?? max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) * Self.jobsPerCore
        try Threads((0..<jobs).map { _ in { work(queue, house) } }).join()
        let (results, failure) = queue.outcome
        let tally = CutTally(seed: seed, options: options, counts: counts, results: results)
        output(options.isJSON ? tally.jsonText + "\n" : tally.summary)
        if let report = options.report {
            try Report(page: CutReport(tally: tally).text, json: tally.jsonText + "\n", junit: tally.junit)
                .write(to: report)
            Progress().say("report: \(report)/index.html")
        }
        if let failure = failure ?? witness.failure { throw failure }
        return tally.isOK ? 0 : 1
    }

    /// What every case needs, and no case changes.
    private struct House: Sendable {
        let programs: Programs
        let template: MachineTemplate
        let witness: MachineWitness
    }

    /// What one case leaves behind.
    private struct Played {
        let result: CutResult
        /// Writes and flushes of the victim's disk.
        let count: Int
        let began: UInt64
        let ended: UInt64
        /// Where a case that failed keeps its files; nil for one that held.
        let directory: String?
        /// Whether nothing was broken but what has to happen by a time.
        let isOfTime: Bool
    }

    /// One thread's share: each has a waiter of its own, and its children end with it.
    private func work(_ queue: CutQueue, _ house: House) {
        do {
            let waiter = try Waiter()
            while let point = queue.next() {
                let played = try play(point, house, waiter)
                queue.add(played.result, keptIn: played.directory)
            }
        } catch {
            queue.fail(error as? DrillError ?? DrillError(.environment, "\(error)"))
        }
    }

    /// Plays a point, and again while the machine that drills stood still in a case that failed by its time, and by nothing else.
    private func play(_ point: CutPoint, _ house: House, _ waiter: Waiter) throws -> Played {
        for _ in 0..<Self.repetitionsMaximum {
            let played = try playOnce(point, house, waiter)
            guard let directory = played.directory, played.isOfTime,
                let stall = house.witness.stall(from: played.began, to: played.ended)
            else { return played }
            Progress().say(
                "the machine stood still for \(stall / 1_000_000) ms: the power of the \(point.role.rawValue) is cut again"
            )
            DrillDirectory.remove(directory)
        }
        throw DrillError(
            .environment, "the machine stands still again and again: use an idle one, or name a quick disk in TMPDIR")
    }

    private func playOnce(_ point: CutPoint, _ house: House, _ waiter: Waiter) throws -> Played {
        let directory = try DrillDirectory(isSeparate: true)
        let disk = try furnish(directory, point.role, house.template, waiter)
        let household = try CaseHousehold.make(directory, programs: house.programs, seed: seed, waiter: waiter)
        let cut = PowerCut(point, disk, seed: seed, lies: options.lies, waiter: waiter)
        let run = CaseRun(
            point.role, cut, down: point.down(withOpening:), household, house.template.house, waiter: waiter)
        try run.run()
        let count = disk.count
        // An operation may wait for a victim that was not started: with it the disk would wait, and all who read from it.
        disk.arm(0, lies: false)
        let history = run.history
        let found = CaseJudge.violations(of: history)
        let restart = history.restart
        var result = CutResult(
            point: point, operation: cut.operation,
            restoreMicroseconds: restart.flatMap { restart in restart.restoredAt.map { ($0 - restart.at) / 1000 } },
            milliseconds: (history.ended - history.began) / 1_000_000, violations: found.map(\.description))
        if let lost = cut.lost {
            (result.unflushedWrites, result.unflushedOctets, result.keptOctets) = lost
        }
        if !found.isEmpty { try keep(point.role, directory) }
        try disk.unmount(waiter)
        // A machine that never came back has no disk to look at, and its judge has said so.
        let damage = disk.isCut ? nil : try disk.damage(waiter)
        if let damage { result.violations.append(damage) }
        disk.end()
        let hasHeld = result.violations.isEmpty
        if hasHeld { directory.remove() }
        return Played(
            result: result, count: count, began: history.began, ended: history.ended,
            directory: hasHeld ? nil : directory.path, isOfTime: damage == nil && found.allSatisfy(\.isOfTime))
    }

    /// What the house was prepared with, and the victim's part of it on a disk whose power can be cut.
    private func furnish(_ directory: DrillDirectory, _ victim: Role, _ template: MachineTemplate, _ waiter: Waiter)
        throws
        -> CutDisk
    {
        let state = directory.state(victim)
        try template.house.furnish(directory, leavingOut: victim)
        let folder = directory.path + "/device"
        guard mkdir(folder, 0o700) == 0 else { throw DrillError.system("cannot make \(folder)") }
        let disk = try CutDisk(
            image: template.image(victim), folder: folder, mountPoint: state, log: directory.log("mount"))
        try disk.mount(waiter)
        guard chmod(state, 0o700) == 0 else { throw DrillError.system("cannot change the mode of \(state)") }
        try disk.flush()
        return disk
    }

    /// The victim's files go with their disk: they are copied first.
    private func keep(_ role: Role, _ directory: DrillDirectory) throws {
        let left = "\(directory.path)/\(role.rawValue).left"
        guard mkdir(left, 0o700) == 0 else { throw DrillError.system("cannot make \(left)") }
        try HouseTemplate.copyFiles(from: directory.state(role), to: left)
    }
}
