import CommandInterface

/// What engineers need, and no door: a radio without an adapter, and the drills.
@main
struct LatchLab {
    static func main() { program.main(Array(CommandLine.arguments.dropFirst())) }

    static var program: CommandProgram {
        CommandProgram(
            name: "latch-lab", summary: "The bench for latch: a simulated radio, and drills that kill locks and keys.",
            commands: [
                RadioCommand.radio, DoorCommand.door, ProximityCommand.walks, SimulateCommand.simulate,
                DrillCommands.drill,
                MeasuredCommands.restarts,
                MeasuredCommands.power, MeasuredCommands.day, DiskCommand.disk,
            ] + ReferenceCommands.all(of: "latch-lab") { Self.program },
            examples: [
                "latch-lab radio --socket ./air.sock --control ./air.control",
                "latch-lab door --socket ./strike.sock",
                "latch-lab drill processes --kills 10 --seed 1 --report ./report",
            ],
            exitStatuses: [
                (.ok, "done; of a drill: every promise held"),
                (.refused, "failed; of a drill: a promise was broken, or the drill was interrupted"),
                (.usage, ExitCode.usage.meaning),
                (.state, "the drill could not be run"),
                (.transport, "the radio's sockets cannot be used"),
            ],
            elsewhere: ["peripheral": "latch", "central": "latch", "audit": "latch", "state": "latch"])
    }
}
