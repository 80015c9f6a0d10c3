import CommandInterface
import DaemonControl
import Simulation

/// `latch-lab drill simulate`: both products in one process, killed and restored under a clock that nobody waits for.
enum SimulateCommand {
    private static let usualSchedules = 1_000

    static let simulate = CommandSpec(
        path: ["drill", "simulate"],
        summary: "Kill and restore a lock and its keys in one process, under a virtual clock.",
        details: [
            "Each schedule is a command of somebody's, with kills, power cuts and a radio that falls silent meanwhile. Then the lock "
                + "has to obey again, and everything that operators were told and the bolt did is judged. The real stack and "
                + "the real database run, on a simulated radio and a disk that dies in the middle of a call.",
            "The first schedule that breaks a promise ends it. What is left of it when everything that does not matter has been "
                + "taken away is shown, with the command that shows it again.",
        ],
        options: [
            .value("seed", "S", "Where chance begins. By default a fresh one, which is shown."),
            .value("schedules", "N", "How many. \(usualSchedules) by default."),
            .value(
                "plant", "FAULT",
                "Break the products on purpose, to see it found. Only in a build made with `swift build -Xswiftc "
                    + "-DLATCH_PLANTS --scratch-path .build/plants`."),
            .value("minutes", "M", "Ends after so many minutes all the same."),
            .flag("json", "One JSON object on standard output."),
        ],
        examples: ["latch-lab drill simulate", "latch-lab drill simulate --seed 7 --schedules 20000 --json"]
    ) { arguments in
        let seed = try arguments.integer("seed", in: 0...UInt64.max) ?? UInt64.random(in: 0...UInt64(UInt32.max))
        let schedules = try arguments.integer("schedules", in: 1...100_000_000) ?? usualSchedules
        let minutes = try arguments.integer("minutes", in: 1...10_000)
        if let plant = arguments["plant"] { try Simulation.plant(plant) }
        return try run(seed: seed, schedules: schedules, minutes: minutes, isJSON: arguments.has("json"))
    }

    private static func run(seed: UInt64, schedules: Int, minutes: Int?, isJSON: Bool) throws -> ExitCode {
        Output.prompt("seed \(seed)\n")
        let begin = ContinuousClock.now
        var simulation = Simulation()
        var house = seed
        var violation: Simulation.Violation?
        var told = begin
        while simulation.tally.schedules < schedules, violation == nil {
            let count = min(Simulation.schedulesPerHouse, schedules - simulation.tally.schedules)
            violation = try simulation.playHouse(seed: house, schedules: count)
            house &+= 1
            if let minutes, begin.duration(to: .now) > .seconds(60 * minutes) { break }
            if told.duration(to: .now) > .seconds(10) {
                told = .now
                Output.prompt("\(simulation.tally.schedules) of \(schedules) schedules\n")
            }
        }
        let spent = begin.duration(to: .now)
        let least = try violation.map { try $0.shrunk() }
        report(simulation.tally, least, seed: seed, spent: spent, isJSON: isJSON)
        return violation == nil ? .ok : .refused
    }

    private static func report(
        _ tally: Tally, _ violation: Simulation.Violation?, seed: UInt64, spent: Duration, isJSON: Bool
    ) {
        var faults = JSONObject()
        for (kind, count) in tally.faults.sorted(by: { $0.key < $1.key }) { faults[kind] = .number(Int64(count)) }
        var object: JSONObject = [
            "seed": .string("\(seed)"), "schedules": .number(Int64(tally.schedules)),
            "lock_ends": .number(Int64(tally.ends[.lock] ?? 0)), "key_ends": .number(Int64(tally.ends[.key] ?? 0)),
            "restores": .number(Int64(tally.restores)),
            "faults": .object(faults),
            "mean_events": .number(Int64(tally.events / max(1, tally.schedules))),
            "kill_points": .number(Int64(tally.points.count)),
            "virtual_hours": .number(Int64(tally.virtualMilliseconds / 3_600_000)),
            "schedules_per_second": .number(Int64(Double(tally.schedules) * (.seconds(1) / spent))),
            "violations": .number(violation == nil ? 0 : 1),
        ]
        if let violation {
            object["broken"] = .array(violation.broken.map { .string($0) })
            object["least"] = .array(violation.schedules.map { .string("\($0)") })
            object["again"] = .string(
                "latch-lab drill simulate --seed \(violation.seed) --schedules \(Simulation.schedulesPerHouse)")
        }
        if isJSON { Output.line(.object(object)) } else { Output.fields(object) }
    }
}
