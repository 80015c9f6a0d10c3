import CLinux
import Glibc

/// `latch drill processes`, from its options to its exit status.
struct ProcessDrill {
    let options: DrillOptions
    /// The program whose roles are run: this one.
    let executable: String
    /// Where the summary or the JSON goes.
    let output: (String) -> Void

    func run() -> Int32 {
        do {
            return try runOrThrow()
        } catch {
            Progress().say("latch drill: \(error)")
            return (error as? DrillError)?.kind == .interrupted ? 1 : 4
        }
    }

    private func runOrThrow() throws -> Int32 {
        guard let strace = Self.find("strace") else {
            throw DrillError(
                .environment, "strace is not installed, and half of the kills are made by it: `apt install strace`")
        }
        let waiter = try Waiter()
        let directory = try DrillDirectory(isSeparate: options.isSeparate)
        let progress = Progress()
        do {
            let (history, packets) = try drill(directory, strace, waiter, progress)
            progress.finish()
            return try conclude(history, packets, directory, progress)
        } catch {
            progress.finish()
            showLogs(of: directory, progress)
            throw error
        }
    }

    private func drill(_ directory: DrillDirectory, _ strace: String, _ waiter: Waiter, _ progress: Progress) throws
        -> (
            History, [(controller: Int, packet: CapturePacket)]
        )
    {
        let household = try Household(
            directory, executable: executable, strace: strace, seed: options.seed, plant: options.plant,
            waiter: waiter)
        defer { household.endAll() }
        let schedule = Schedule(seed: options.seed, killsPerRole: options.kills)
        let scenario = Scenario(household, schedule, killsPerRole: options.kills, progress: progress)
        defer { scenario.endEnrolmentAttempt() }
        try scenario.run()
        return (scenario.history, household.observer.packets)
    }

    private func conclude(
        _ history: History, _ packets: [(controller: Int, packet: CapturePacket)], _ directory: DrillDirectory,
        _ progress: Progress
    ) throws -> Int32 {
        let tally = Tally(history)
        output(options.isJSON ? json(tally) : tally.summary)
        if let report = options.report {
            try Report(history: history, tally: tally, packets: packets).write(to: report, json: json(tally))
            progress.say("report: \(report)/index.html")
        }
        if tally.isOK {
            directory.remove()
            return 0
        }
        showLogs(of: directory, progress)
        return 1
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
