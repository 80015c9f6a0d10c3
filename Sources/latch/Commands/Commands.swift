import CommandInterface

/// Every command of `latch`, in the order of its help.
enum Commands {
    static let all = groups.flatMap { $0 }

    // A list of lists: one expression that joins them all takes a compiler of another version too long.
    private static let groups: [[CommandSpec]] = [
        [PeripheralCommands.run], EnrolmentCommand.all,
        [
            PeripheralCommands.disable, PeripheralCommands.enable, PeripheralCommands.remove,
            // The longer path first: the first whose words fit is taken.
            PeripheralCommands.deleteBond, PeripheralCommands.bonds, PeripheralCommands.users,
            PeripheralCommands.status, PeripheralCommands.mode, PeripheralCommands.reset, PeripheralCommands.stop,
            PeripheralCommands.confirmState,
        ],
        OperationCommands.all, ScheduleCommands.all,
        [CentralCommands.run, CentralCommands.enroll], CentralCommands.operations,
        [CentralCommands.rename], PreferenceCommands.all, [CentralCommands.forget], CalibrateCommand.all,
        [CentralCommands.status, WatchCommand.watch, CentralCommands.stop],
        ReloadCommands.all, AuditCommands.all, StateCommands.all,
        ReferenceCommands.all(of: "latch") { Latch.program() },
    ]

    /// The commands that these words may mean. A daemon that comes back from a kill is in a hurry: it makes its own
    /// description and not everybody's.
    static func candidates(for words: [String]) -> [CommandSpec] {
        switch (words.first, words.dropFirst().first) {
        case ("peripheral", "run"): [PeripheralCommands.run]
        case ("central", "run"): [CentralCommands.run]
        default: all
        }
    }

    static let json = OptionSpec.flag("json", "Write JSON, one value on each line, for programs.")

    /// What both `run` commands take; each overrides its key in the configuration file.
    static let daemon: [OptionSpec] = [
        .value("config", "FILE", "The configuration file; every option below overrides a key in it."),
        .value(
            "transport", "ADDRESS",
            "The controller: hci:N, hci:ADDRESS or hci:usb-PORT (the kernel's adapter, taken over), unix:PATH, tcp:HOST:PORT, serial:DEVICE,BAUD or fd:N (H4). For a key also bluez, bluez:hciN or bluez:ADDRESS (bluetoothd keeps it)."
        ),
        .value("state", "DIR", "Where state is kept; a directory of mode 0700 that exists."),
        .value(
            "database", "FILE", "The database, if not latch.sqlite in the state directory."),
        .value("restore-id", "ID", "The name under which state is kept and found again."),
        .value("journal", "FILE", "Append every state transition to this file, as JSON lines."),
        .value("capture", "FILE", "Write the HCI traffic there, as btsnoop. It holds keys in clear: for drills only."),
        .choice("log-level", Log.Level.allCases.map(\.rawValue), "The least serious line to log."),
        .flag("json", "Log JSON lines."),
        .flag("check", "Say all that is wrong with the configuration, and do not run."),
    ]

    /// Of both `run` commands.
    static let reloading =
        "SIGHUP, or the `reload` command, has it read the configuration file anew: what can change meanwhile does, and the rest is "
        + "named. --check reads the file and looks at what it names, and says each fault on a line: run it as the daemon's user."

    /// Applies those options to what the file said.
    static func override(_ daemon: inout DaemonSettings, with arguments: ParsedArguments) {
        daemon.transport = arguments["transport"] ?? daemon.transport
        daemon.stateDirectory = arguments["state"] ?? daemon.stateDirectory
        daemon.database = arguments["database"] ?? daemon.database
        daemon.restoreIdentifier = arguments["restore-id"] ?? daemon.restoreIdentifier
        daemon.journal = arguments["journal"] ?? daemon.journal
        daemon.capture = arguments["capture"] ?? daemon.capture
        daemon.logLevel = arguments["log-level"] ?? daemon.logLevel
        daemon.logsJSON = daemon.logsJSON || arguments.has("json")
    }
}
