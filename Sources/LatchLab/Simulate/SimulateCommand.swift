import CommandInterface
import DaemonControl
import Drills
import Simulation

/// `latch-lab drill simulate`: both products in one process, killed and restored under a clock that nobody waits for.
enum SimulateCommand {
    private static let usualSchedules = 1_000
    private static let progressMilliseconds: UInt64 = 10_000

    static let simulate = CommandSpec(
        path: ["drill", "simulate"],
        summary: "Kill and restore a lock and its keys in one process, under a virtual clock.",
        details: [
            "Each schedule is a command of somebody's, with kills, power cuts and a radio that falls silent meanwhile. Then the lock "
                + "has to obey again, and everything that operators were told and the bolt did is judged. The real stack and "
                + "the real database run, on a simulated radio and a disk that dies in the middle of a call.",
            "The first schedule that breaks a promise ends it. What is left of it when everything that does not matter has been "
                + "taken away is shown, with the command that shows it again. A seed gives the same schedules on any number of "
                + "threads.",
            "SIGINT and SIGTERM end it behind the schedules under way, with the figures so far, `interrupted` and exit status 1.",
        ],
        options: [
            .value("seed", "S", "Where chance begins. By default a fresh one, which is shown."),
            .value(
                "schedules", "N", "How many. \(usualSchedules) by default, and without end where --minutes is given."),
            .value(
                "minutes", "M",
                "Begin no more houses, of \(Simulation.schedulesPerHouse) schedules each, after so many minutes."),
            .value("jobs", "J", "Threads. By default one for each processor."),
            .value(
                "plant", "FAULT",
                "Break the products on purpose, to see it found. Only in a build made with `swift build -Xswiftc "
                    + "-DLATCH_PLANTS --scratch-path .build/plants`."),
            .value("report", "DIR", "Write index.html, result.json and junit.xml there."),
            .flag("json", "One JSON object on standard output."),
        ],
        examples: [
            "latch-lab drill simulate --minutes 5 --report ./report",
            "latch-lab drill simulate --seed 7 --schedules 20000 --json",
        ]
    ) { arguments in
        let seed = try arguments.integer("seed", in: 0...UInt64.max) ?? DrillSeed.fresh
        let minutes = try arguments.integer("minutes", in: 1...10_000)
        let schedules = try arguments.integer("schedules", in: 1...100_000_000)
        let jobs = try arguments.integer("jobs", in: 1...1_000) ?? Campaign.processors
        if let plant = arguments["plant"] { try Simulation.plant(plant) }
        do {
            let result = try play(
                seed: seed, schedules: schedules ?? (minutes == nil ? usualSchedules : nil), minutes: minutes,
                jobs: jobs)
            try MeasuredCommands.tell(result.json, report: result.report(), as: arguments)
            return result.violation == nil && !result.isInterrupted ? .ok : .refused
        } catch let error as DrillError {
            throw Failure(.state, error.description)
        }
    }

    private static func play(seed: UInt64, schedules: Int?, minutes: Int?, jobs: Int) throws -> SimulationResult {
        // Signals are taken in this thread first, so that the others leave them alone.
        let waiter = try Waiter()
        let progress = Progress()
        progress.say("seed \(seed)")
        let campaign = Campaign(seed: seed, schedules: schedules)
        let begin = ContinuousClock.now
        var (told, isInterrupted) = (begin, false)
        do {
            try campaign.run(jobs: jobs) {
                try waiter.sleep(milliseconds: 20)
                if let minutes, begin.duration(to: .now) > .seconds(60 * minutes) { campaign.stop() }
                if progress.isTerminal || told.duration(to: .now) > .milliseconds(Int64(progressMilliseconds)) {
                    told = .now
                    progress.show("\(campaign.tally.schedules)\(schedules.map { " of \($0)" } ?? "") schedules")
                }
            }
        } catch let error as DrillError where error.kind == .interrupted {
            isInterrupted = true
        }
        progress.finish()
        var result = SimulationResult(
            seed: seed, tally: campaign.tally, violation: campaign.violation, spent: begin.duration(to: .now),
            processorTime: Campaign.processorTime, isInterrupted: isInterrupted)
        guard result.violation != nil, !isInterrupted else { return result }
        progress.say("a promise was broken; taking away what does not matter")
        do {
            try campaign.shrink { try waiter.sleep(milliseconds: 20) }
        } catch let error as DrillError where error.kind == .interrupted {
            result.isInterrupted = true
        }
        result.violation = campaign.violation
        return result
    }
}
