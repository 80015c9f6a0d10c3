import CommandInterface
import Drills

/// `latch-lab drill …`: forwarded to the room that knows.
enum DrillCommands {
    static let drill = CommandSpec(
        path: ["drill"], summary: "Kill, restart and check: the drills and their report.",
        options: [], operands: .forwarded("DRILL [OPTIONS]"),
        examples: [
            "latch-lab drill processes --kills 10 --seed 1 --report ./report",
            "latch-lab drill app --rules ./my-app.drill -- ./my-app",
        ]
    ) { arguments in
        ExitCode(rawValue: DrillCommand.run(arguments.operands)) ?? .refused
    }
}
