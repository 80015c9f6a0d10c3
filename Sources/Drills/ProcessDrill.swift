import CLinux
import Glibc

/// `latch-lab drill processes`, from its options to its exit status.
struct ProcessDrill {
    let options: DrillOptions
    private let seed: UInt64
    /// Where the summary or the JSON goes.
    let output: (String) -> Void

    init(options: DrillOptions, output: @escaping (String) -> Void) {
        self.options = options
        self.output = output
        seed = options.seed ?? DrillSeed.fresh
    }

    func run() throws -> Int32 {
        guard let strace = Self.find("strace") else {
            throw DrillError(
                .environment, "strace is not installed, and half of the kills are made by it: `apt install strace`")
        }
        let programs = try Programs(latch: options.latch)
        let waiter = try Waiter()
        let schedule = Schedule(seed: seed, killsPerRole: options.kills)
        let progress = Progress(planned: schedule.plans.count)
        progress.say("drill processes: seed \(seed)")
        var runs: [Run] = []
        for part in schedule.households {
            let directory = try DrillDirectory(isSeparate: options.isSeparate)
            do {
                let run = try drill(part, directory, programs, strace, waiter, progress)
                progress.finished(run.history)
                if Tally(run.history).isOK { directory.remove() }
                runs.append(run)
            } catch {
                progress.finish()
                showLogs(of: directory, progress)
                throw error
            }
        }
        progress.finish()
        return try conclude(runs, progress)
    }

    /// What one household leaves behind.
    private struct Run {
        let history: History
        let packets: [(controller: Int, packet: CapturePacket)]
        let directory: DrillDirectory
    }

    private func drill(
        _ schedule: Schedule, _ directory: DrillDirectory, _ programs: Programs, _ strace: String, _ waiter: Waiter,
        _ progress: Progress
    ) throws -> Run {
        let household = try Household(
            directory, programs: programs, strace: strace, seed: seed, waiter: waiter)
        defer { household.endAll() }
        let scenario = Scenario(household, schedule, progress: progress)
        defer { scenario.endEnrolmentAttempt() }
        try scenario.run()
        return Run(history: scenario.history, packets: household.observer.packets, directory: directory)
    }

    private func conclude(_ runs: [Run], _ progress: Progress) throws -> Int32 {
        let tally = Tally(runs.map(\.history))
        output(options.isJSON ? json(tally) : tally.summary)
        if let report = options.report {
            let history = History(drawing: runs.map(\.history))
            var files = Report(
                page: HTMLReport(history: history, tally: tally).text, json: json(tally),
                junit: tally.junit(milliseconds: (history.ended &- history.began) / 1_000_000))
            files.packets = Self.packets(of: runs)
            try files.write(to: report)
            progress.say("report: \(report)/index.html")
        }
        for run in runs where !Tally(run.history).isOK { showLogs(of: run.directory, progress) }
        return tally.isOK ? 0 : 1
    }

    /// Every household numbers its controllers from one; in a capture of all of them each has its own number.
    private static func packets(of runs: [Run]) -> [(controller: Int, packet: CapturePacket)] {
        var base = 0
        return runs.flatMap { run in
            let numbered = run.packets.map { (controller: base + $0.controller, packet: $0.packet) }
            base = numbered.map(\.controller).max() ?? base
            return numbered
        }
    }

    private func json(_ tally: Tally) -> String { tally.jsonText + "\n" }

    private func showLogs(of directory: DrillDirectory, _ progress: Progress) {
        for name in ["radio", "lock", "key"] {
            let text = String(decoding: DrillDirectory.read(directory.log(name)), as: UTF8.self)
            let tail = text.split(separator: "\n").suffix(8)
            if !tail.isEmpty { progress.say("--- \(name)\n" + tail.joined(separator: "\n")) }
        }
        progress.say("everything is kept in \(directory.path)")
    }

    private static func find(_ program: String) -> String? {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }
}
