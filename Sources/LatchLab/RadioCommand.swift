import CommandInterface
import VirtualRadio

/// `latch-lab radio`: controllers and the air between them, as a process.
enum RadioCommand {
    static let radio = CommandSpec(
        path: ["radio"], summary: "Run the virtual radio: simulated controllers on one air.",
        details: [
            "Each connection to the socket is a controller that speaks HCI as H4; a closed connection is a controller gone. "
                + "The control socket takes lines such as `distance 1 2 5`, `loss 1 2 10`, `cut 1 2`, `join 1 2`."
        ],
        options: [
            .value("socket", "PATH", "The unix socket that hosts connect to.", isRequired: true),
            .value("control", "PATH", "The unix socket that takes commands.", isRequired: true),
            .value(
                "adapters", "N",
                "Also make the sockets PATH.1 to PATH.N. Each is one adapter for one host at a time, with the public "
                    + "address 02:4C:41:01:00:00 plus its number whoever that is."),
            .choice(
                "air", ["paced", "immediate"],
                "paced, the default: data crosses at connection events. immediate: at once, for benchmarks."),
            .choice(
                "core", ControllerGeneration.allCases.map(\.rawValue),
                "The Core version of the controllers, 5.4 by default. Before 5.0 there is legacy advertising alone."),
            .value("accept-list", "N", "How many addresses a controller's filter accept list takes: 16 by default."),
            .value("resolving-list", "N", "How many peers a controller's resolving list takes: 16 by default."),
            .value("credits", "N", "How many commands a controller takes at a time: 4 by default."),
            .value("seed", "N", "Seeds what is random in the air: 1 by default."),
            .value("capture", "DIR", "Write each controller's traffic there, as btsnoop."),
        ],
        examples: [
            "latch-lab radio --socket ./air.sock --control ./air.control",
            "latch-lab radio --socket ./air.sock --control ./air.control --air immediate --seed 7 --capture ./captures",
        ]
    ) { arguments in
        var air = AirConfiguration()
        air.pacing = arguments["air"].flatMap(AirConfiguration.Pacing.init) ?? .paced
        air.seed = try arguments.integer("seed", in: 0...UInt64.max) ?? 1
        var controller = ControllerConfiguration()
        controller.generation = arguments["core"].flatMap(ControllerGeneration.init) ?? .core54
        controller.acceptListSize = try arguments.integer("accept-list", in: 1...UInt8.max) ?? controller.acceptListSize
        controller.resolvingListSize =
            try arguments.integer("resolving-list", in: 1...UInt8.max) ?? controller.resolvingListSize
        controller.commandCredits = try arguments.integer("credits", in: 1...UInt8.max) ?? controller.commandCredits
        let configuration = RadioServer.Configuration(
            socketPath: try arguments.required("socket"),
            adapters: try arguments.integer("adapters", in: 1...RadioServer.maximumAdapters) ?? 0,
            controlPath: try arguments.required("control"), air: air, controller: controller,
            captureDirectory: arguments["capture"])
        do throws(RadioServerError) {
            var server = try RadioServer(configuration: configuration)
            try server.run()
        } catch {
            throw Failure(.transport, error.description)
        }
        return .ok
    }
}
