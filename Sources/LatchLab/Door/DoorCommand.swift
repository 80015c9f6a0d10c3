import CLinux
import CommandInterface
import DaemonControl
import Glibc
import Simulation
import StrikeControl
import StrikeKeeping

/// `latch-lab door`: the strike's keeper on a door that is none.
enum DoorCommand {
    static let door = CommandSpec(
        path: ["door"], summary: "Run a strike's keeper on a simulated door, and be its hands.",
        details: [
            "For a lock with `actuator = \"gpio\"` whose `keeper` is this socket. Everything but the chip is latch-strike: the socket, "
                + "its protocol, pulses, sensors, retries. Lines on standard input are what somebody does to the door, or what "
                + "breaks; `help` lists them. What becomes of the door is told on standard output, a line each.",
            "A file for latch-strike can be tried too, by --config: which chip and lines it names does not matter then.",
        ],
        options: [
            .value("socket", "PATH", "The unix socket that the lock's daemon connects to; by default the file's."),
            .value("config", "FILE", "A configuration file of latch-strike, in place of a door with all sensors."),
            .value(
                "user", "NAME", "Who is heard, by name or number: who runs this by default, or whom the file names."),
            .choice(
                "drive", StrikeRules.Drive.allCases.map(\.rawValue), "As in latch-strike's file; pulse by default."),
            .choice(
                "fail", StrikeRules.Failure.allCases.map(\.rawValue), "As in latch-strike's file; secure by default."),
            .value("travel-ms", "N", "How long the bolt takes: 150 by default."),
            .flag("json", "Tell what becomes of the door as JSON lines, with the boot time in nanoseconds."),
        ],
        examples: [
            "latch-lab door --socket ./strike.sock",
            "latch-lab door --socket ./strike.sock --drive hold --fail safe",
            "latch-lab door --config /etc/latch/strike.conf --socket ./strike.sock",
        ]
    ) { arguments in
        let plan = try plan(arguments)
        let isJSON = arguments.has("json")
        let hands = try DoorHands(
            plan.rules, travelMilliseconds: try arguments.integer("travel-ms", in: 0...60_000) ?? 150,
            words: STDIN_FILENO
        ) { text in
            guard isJSON else { return Output.line(text) }
            Output.line(.object(["at": .number(Int64(clamping: latch_boottime_nanoseconds())), "door": .string(text)]))
        } quit: {
            kill(getpid(), SIGTERM)
        }
        return try KeeperLoop(plan, chip: SimulatedChip(hands.door, plan, hands), awaitsSocket: false) {
            Output.prompt("latch-lab door: \($0)\n")
        }.run()
    }

    private static func plan(_ arguments: ParsedArguments) throws -> StrikePlan {
        var settings: StrikeSettings
        let file = arguments["config"]
        if let file {
            if let option = ["drive", "fail"].first(where: { arguments[$0] != nil }) {
                throw Failure(.usage, "--\(option) is what the file of --config says: leave one of them out")
            }
            settings = try StrikeSettings.load(file)
        } else {
            settings = .simulated(
                drive: arguments["drive"].flatMap(StrikeRules.Drive.init) ?? .pulse,
                failure: arguments["fail"].flatMap(StrikeRules.Failure.init) ?? .secure, user: String(geteuid()))
            settings.socketPath = try arguments.required("socket")
        }
        if let socket = arguments["socket"] { settings.socketPath = socket }
        if let user = arguments["user"] { settings.user = user }
        return try StrikePlan(settings, configuration: file ?? "the command line")
    }
}
