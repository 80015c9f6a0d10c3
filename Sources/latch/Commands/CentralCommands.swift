import CommandInterface
import DaemonControl

/// `latch central …`: the key.
enum CentralCommands {
    static let run = CommandSpec(
        path: ["central", "run"], summary: "Run the key's daemon until SIGTERM or SIGINT.",
        details: [
            "It waits for its locks for as long as it takes: a pending connection outlives a kill. One daemon lives in a "
                + "state directory at a time.",
            "With neither --state nor --config it is this user's own key: its state is in ~/.local/state/latch-key, which is made, its "
                + "settings are in ~/.config/latch/central.conf where there is one, and its transport is bluez unless they say another one. "
                + "Where no service manager has started such a key, SIGHUP ends it: it goes with its terminal.",
            Commands.reloading,
        ],
        options: Commands.daemon,
        examples: [
            "latch central run --config /etc/latch/central.conf",
            "latch central run --transport hci:0 --state ./key --log-level debug",
            "latch central run                    # beside bluetoothd, as an ordinary user",
        ]
    ) { arguments in
        let source = ConfigurationSource<CentralSettings>(arguments, user: UserPlace(arguments, role: .central))
        if arguments.has("check") { return ConfigurationCheck.run(source, .central, arguments) }
        return try CentralDaemon.run(source)
    }

    static let enroll = CommandSpec(
        path: ["central", "enroll"], summary: "Enrol a running key at a lock, by the lock's setup code.",
        details: [
            "The code is read from standard input, or from a file. It is a secret and never an argument: every user of "
                + "a machine can see arguments."
        ],
        options: ControlPlace.options + [
            .value("code-file", "FILE", "Read the code from this file instead."),
            .value(
                "seconds", "N",
                "How long to wait for the outcome; \(CentralRequest.enrolmentUsualSeconds) by default. Beside bluetoothd a pairing takes 60 at most."
            ),
            Commands.json,
        ],
        operands: .one(
            "[-]",
            refusal:
                "the setup code is a secret and never an argument, which every user of the machine can see: pipe it "
                + "into `latch central enroll -`, or name a file with --code-file; if it was the real code, open a new "
                + "window at the lock"),
        examples: [
            "latch central enroll --state ./key -                # then type or paste the code",
            "latch central enroll --state ./key --code-file ./code",
        ]
    ) { arguments in
        let seconds =
            try arguments.integer("seconds", in: 1...CentralRequest.enrolmentMaximumSeconds)
            ?? CentralRequest.enrolmentUsualSeconds
        // Nobody types a code for a daemon that is not named.
        _ = try ControlPlace(arguments, role: .central)
        let code = try SetupCodeInput.read(
            file: arguments["code-file"], namesStandardInput: !arguments.operands.isEmpty)
        return try ControlCommand.run(
            CentralRequest.enroll(code: code, seconds: seconds), role: .central, arguments: arguments,
            waitMilliseconds: UInt64(seconds) * 1000 + ControlCommand.answerMilliseconds, event: showEvent
        ) { result in Output.line("enrolled at \(result["lock"]?.string.map(Output.shown) ?? "the lock")") }
    }

    static let operations = [
        command(.unlock, "Open a lock."),
        command(.lock, "Close a lock."),
        command(.unlatch, "Pull a lock's latch for a moment, with its bolt withdrawn."),
        command(.lockAndGo, "Open a lock to leave by: it closes by itself shortly after."),
    ]

    static let rename = CommandSpec(
        path: ["central", "rename"], summary: "Call a lock by another name.",
        details: ["At this key alone: the lock, and everybody else's keys, call it what they did."],
        options: ControlPlace.options + [
            .value("lock", "NAME|ID", "Which lock.", isRequired: true),
            .value("name", "NAME", "What it is called from now on.", isRequired: true),
            Commands.json,
        ],
        examples: ["latch central rename --state ./key --lock Latch --name \"Front door\""]
    ) { arguments in
        let request = CentralRequest.rename(
            lock: try arguments.required("lock"), name: try arguments.required("name"))
        return try ControlCommand.run(request, role: .central, arguments: arguments) { result in
            let was = result["changed"] == .bool(false) ? " already" : ""
            let (former, name) = (result["former"]?.string ?? "", result["lock"]?.string ?? "")
            Output.line(Output.shown(former) + ": " + Output.shown(name) + was)
        }
    }

    static let forget = CommandSpec(
        path: ["central", "forget"], summary: "Forget a lock, with its bond.",
        details: [
            "What is asked of the lock ends, nothing waits for it any more, and this key does not open it again: it has to be enrolled anew. "
                + "The lock is told nothing and knows this key until its owner removes it there (`latch peripheral remove`)."
        ],
        options: ControlPlace.options + [
            .value(
                "lock", "NAME|ID", "Which lock; one that never came back to confirm its enrolment by its ID.",
                isRequired: true),
            .flag("yes", "Do not ask. Without a terminal it is needed."), Commands.json,
        ],
        examples: ["latch central forget --state ./key --lock \"Front door\""]
    ) { arguments in
        let lock = try arguments.required("lock")
        // Nobody confirms anything for a daemon that is not named.
        _ = try ControlPlace(arguments, role: .central)
        try Confirmation.require(
            "forget", "This key will not open \"\(lock)\" again, until it is enrolled there anew.", arguments)
        return try ControlCommand.run(CentralRequest.forget(lock: lock), role: .central, arguments: arguments) {
            result in
            Output.line(Output.shown(result["lock"]?.string ?? "") + ": forgotten")
        }
    }

    static let status = CommandSpec(
        path: ["central", "status"], summary: "Say what a running key is doing.",
        options: ControlPlace.options + [Commands.json], examples: ["latch central status --state ./key --json"]
    ) { arguments in
        try ControlCommand.run(CentralRequest.status, role: .central, arguments: arguments) { Output.fields($0) }
    }

    static let stop = CommandSpec(
        path: ["central", "stop"], summary: "End a running key's daemon cleanly.",
        details: [
            "Under systemd its unit starts the next one at once. `systemctl stop latch-central` keeps it down, and for this user's "
                + "own key `systemctl --user stop latch-central`."
        ],
        options: ControlPlace.options + [Commands.json], examples: ["latch central stop --state ./key"]
    ) { arguments in
        try ControlCommand.run(CentralRequest.stop, role: .central, arguments: arguments) { _ in }
    }

    private static func command(_ operation: CentralRequest.Command.Operation, _ summary: String) -> CommandSpec {
        CommandSpec(
            path: ["central", operation.rawValue], summary: summary,
            details: [
                "Ends with the lock's own receipt. When the wait is over without one (exit status 6) nobody knows yet "
                    + "whether the lock acted: the key asks the lock as soon as it can, and never repeats blindly."
            ],
            options: ControlPlace.options + relockOptions(operation) + UnlockOptions.all(for: operation) + [
                .value("lock", "NAME|ID", "Which lock; not needed when only one is enrolled."),
                .value(
                    "wait", "SECONDS",
                    "How long to wait for the receipt; \(CentralRequest.Command.defaultWaitSeconds) by default."),
                Commands.json,
            ],
            examples: [
                "latch central \(operation.rawValue) --state ./key",
                "latch central \(operation.rawValue) --state ./key --lock \"Front door\" --wait 30",
            ] + (operation.takesNearest ? UnlockOptions.examples : [])
        ) { arguments in
            let wait: Int64 =
                try arguments.integer("wait", in: 1...CentralRequest.Command.maximumWaitSeconds)
                ?? CentralRequest.Command.defaultWaitSeconds
            let request = CentralRequest.Command(
                operation: operation, relock: try relock(arguments), lock: arguments["lock"],
                isForNearest: try UnlockOptions.isForNearest(arguments), waitSeconds: wait)
            let teller = arguments.has("notify") ? UnlockTeller(arguments) : nil
            return try UnlockTeller.telling(teller) {
                try ControlCommand.run(
                    CentralRequest.command(request), role: .central, arguments: arguments,
                    waitMilliseconds: UInt64(wait) * 1000 + ControlCommand.answerMilliseconds,
                    heard: { teller?.heard($0, $1) }, event: showEvent, answered: { teller?.answered($0) }
                ) { result in Output.fields(result) }
            }
        }
    }

    private static func relockOptions(_ operation: CentralRequest.Command.Operation) -> [OptionSpec] {
        let time = OptionSpec.value(
            "relock", "SECONDS", "When the bolt goes back, 1 to 254 s from now; else as the lock is set.")
        let hold = OptionSpec.flag("hold-open", "The bolt stays open until somebody locks it. Guests may not.")
        return (operation.takesRelock ? [time] : []) + (operation.takesHold ? [hold] : [])
    }

    /// - Throws: ``Failure`` for a time that none is, or for one beside `--hold-open`.
    private static func relock(_ arguments: ParsedArguments) throws -> CentralRequest.Command.Relock {
        let seconds: UInt8? = try arguments.integer("relock", in: CentralRequest.Command.relockSeconds).map {
            UInt8($0)
        }
        guard arguments.has("hold-open") else { return seconds.map { .after(seconds: $0) } ?? .setting }
        guard seconds == nil else {
            throw Failure(.usage, "--relock and --hold-open do not go together: a bolt that stays open has no time")
        }
        return .held
    }

    private static func showEvent(_ event: String, _ fields: JSONObject) {
        Output.line(event + Output.pairs(fields.members))
    }
}
