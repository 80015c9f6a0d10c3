import Glibc

/// `latch-lab drill machine`, from its options to its exit status.
struct MachineDrill: Sendable {
    let options: MachineOptions
    let seed: UInt64
    /// Where the summary or the JSON goes.
    let output: @Sendable (String) -> Void

    init(options: MachineOptions, output: @escaping @Sendable (String) -> Void) {
        self.options = options
        self.output = output
        seed = options.common.seed ?? DrillSeed.fresh
    }

    func run() throws -> Int32 {
        let programs = try Programs(latch: options.common.latch)
        try CutDisk.ownMounts()
        // Signals are taken in this thread first, so that those it starts leave them alone.
        let waiter = try Waiter()
        Progress().say("drill machine: seed \(seed)")
        let template = try MachineTemplate(programs: programs, seed: seed, waiter: waiter)
        defer { template.remove() }
        let disk = try template.mountWitness(waiter)
        // One that stays mounted goes with this process.
        defer { try? disk.unmount(waiter) }
        return try CaseBench.with(programs, template.house, disk: disk.mountPoint, seed: seed) { bench in
            let counts = try wholeLives(template, bench, waiter)
            let queue = CaseQueue(CutPlan(options.points(counts), options: options, seed: seed))
            try queue.playAll(jobs: options.common.households) { point, waiter in
                let played = try play(point, template, bench, waiter)
                return (played.outcome.result, played.directory)
            }
            let (results, failure) = queue.outcome
            let tally = CutTally(seed: seed, options: options, counts: counts, results: results)
            try tally.tell(isJSON: options.common.isJSON, report: options.common.report, output: output)
            if let failure = failure ?? bench.failure { throw failure }
            return tally.isOK ? 0 : 1
        }
    }

    /// A result, and how many writes and flushes the victim's disk made.
    private typealias Outcome = (result: CutResult, count: Int)

    /// How many writes and flushes the disk of each role makes in a life whose power nobody cuts; that has to keep every promise too.
    private func wholeLives(_ template: MachineTemplate, _ bench: CaseBench, _ waiter: Waiter) throws -> [Role: Int] {
        var counts: [Role: Int] = [:]
        for role in options.common.roles {
            let whole = try play(CutPoint(role: role, number: 0, choice: 0), template, bench, waiter).outcome
            guard !whole.result.isViolated else {
                throw DrillError(
                    .environment,
                    "a life whose power nobody cuts breaks promises: \(whole.result.violations.joined(separator: "; "))"
                )
            }
            counts[role] = whole.count
        }
        return counts
    }

    private func play(_ point: CutPoint, _ template: MachineTemplate, _ bench: CaseBench, _ waiter: Waiter) throws
        -> CaseBench.Played<Outcome>
    {
        try bench.play("the power of the \(point.role.rawValue) is cut again") {
            try playOnce(point, template, bench, waiter)
        }
    }

    private func playOnce(_ point: CutPoint, _ template: MachineTemplate, _ bench: CaseBench, _ waiter: Waiter) throws
        -> CaseBench.Played<Outcome>
    {
        let directory = try DrillDirectory(isSeparate: true)
        let disk = try furnish(directory, point.role, template, waiter)
        let household = try bench.household(directory, waiter)
        let cut = PowerCut(point, disk, seed: seed, lies: options.lies, waiter: waiter)
        let life = try bench.live(point.role, cut, down: point.down(withOpening:), household, waiter)
        let count = disk.count
        // An operation may wait for a victim that was not started: with it the disk would wait, and all who read from it.
        disk.arm(0, lies: false)
        var result = CutResult(
            point: point, operation: cut.operation, restoreMicroseconds: life.restoreMicroseconds,
            milliseconds: life.milliseconds, violations: life.found.map(\.description))
        if let lost = cut.lost {
            (result.unflushedWrites, result.unflushedOctets, result.keptOctets) = lost
        }
        if !life.found.isEmpty { try keep(point.role, directory) }
        try disk.unmount(waiter)
        // A machine that never came back has no disk to look at, and its judge has said so.
        let damage = disk.isCut ? nil : try disk.damage(waiter)
        if let damage { result.violations.append(damage) }
        disk.end()
        if !result.isViolated { directory.remove() }
        return CaseBench.Played(
            outcome: (result, count), life: life, directory: result.isViolated ? directory.path : nil,
            isOfTime: damage == nil && life.found.allSatisfy(\.isOfTime))
    }

    /// What the house was prepared with, and the victim's part of it on a disk whose power can be cut.
    private func furnish(_ directory: DrillDirectory, _ victim: Role, _ template: MachineTemplate, _ waiter: Waiter)
        throws
        -> CutDisk
    {
        let state = directory.state(victim)
        try template.house.furnish(directory, leavingOut: victim)
        let disk = try template.mount(victim, in: directory, at: state, waiter)
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
