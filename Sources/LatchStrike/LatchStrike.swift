import CommandInterface
import StrikeKeeping

/// What keeps the line of a strike: a program of its own, so that a pulse ends whoever has died.
@main
struct LatchStrike {
    static func main() { program.main(Array(CommandLine.arguments.dropFirst())) }

    static var program: CommandProgram {
        CommandProgram(
            name: "latch-strike", summary: "Keeps a strike's line on a GPIO chip, and ends its pulses whoever dies.",
            commands: [run] + ReferenceCommands.all(of: "latch-strike") { Self.program },
            examples: [
                "latch-strike run --config /etc/latch/strike.conf",
                "latch-strike run --config /etc/latch/strike.conf --check",
            ],
            exitStatuses: [ExitCode.ok, .refused, .usage, .configuration, .unavailable].map { ($0, $0.meaning) },
            elsewhere: ["peripheral": "latch", "central": "latch", "state": "latch", "audit": "latch"])
    }

    static let run = CommandSpec(
        path: ["run"], summary: "Put the line to its rest, and keep it until SIGTERM or SIGINT.",
        details: [
            "The lock's daemon says over a unix socket when the door is to be released; nobody else is heard. What the "
                + "configuration limits, no order makes longer."
        ],
        options: [
            .value("config", "FILE", "Its configuration file.", isRequired: true),
            .flag("check", "Only look: at the file, the user, the chip and its lines. Nothing is set."),
        ],
        examples: ["latch-strike run --config /etc/latch/strike.conf"]
    ) { arguments in
        let file = try arguments.required("config")
        if arguments.has("check") {
            return try StrikePlan(StrikeSettings.load(file), configuration: file).check()
        }
        let tell: (String) -> Void = { Output.prompt("latch-strike: \($0)\n") }
        guard let settings = try StrikeSettings.awaited(file, tell: tell) else { return .unavailable }
        let plan = try StrikePlan(settings, configuration: file)
        let loop = try KeeperLoop(plan, chip: GPIODoorChip(plan), tell: tell)
        // Behind the line's rest, which waits for nothing.
        KeeperLoop.stayInMemory()
        return try loop.run()
    }
}
