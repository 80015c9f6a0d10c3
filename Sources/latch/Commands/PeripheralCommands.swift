import CommandInterface
import DaemonControl

/// `latch peripheral …`: the lock.
enum PeripheralCommands {
    static let run = CommandSpec(
        path: ["peripheral", "run"], summary: "Run the lock's daemon until SIGTERM or SIGINT.",
        details: [
            "Everything that it promised before a kill it keeps after it: bonds, subscriptions, advertising, the bolt's "
                + "intent. One daemon lives in a state directory at a time.",
            Commands.reloading,
        ],
        options: Commands.daemon,
        examples: [
            "latch peripheral run --config /etc/latch/peripheral.conf",
            "latch peripheral run --config /etc/latch/peripheral.conf --check",
            "latch peripheral run --transport unix:/run/latch/air.sock --state ./lock",
        ]
    ) { arguments in
        let source = ConfigurationSource<PeripheralSettings>(arguments)
        if arguments.has("check") { return ConfigurationCheck.run(source, .peripheral, arguments) }
        return try PeripheralDaemon.run(source)
    }

    static let disable = administration(
        .disable, "Let a credential do nothing, until it is enabled again.",
        [
            "Its next command is refused, on every link, and it is told nothing of the bolt any more. Its key stays paired. "
                + "The audit says who was disabled and when."
        ])
    static let enable = administration(
        .enable, "Let a credential do again what its role may do.", ["The audit says who was enabled and when."])
    static let remove = administration(
        .remove, "Remove a credential with its key, for good.",
        [
            "Its bond and its rights are gone and its links are ended at once. To open again, enrol again. The "
                + "audit says who was removed and when.",
            "A credential whose row is damaged (`row_damaged`) can be removed too: by its name, or by the row's number in that "
                + "warning where the name is lost.",
        ])

    static let confirmState = CommandSpec(
        path: ["peripheral", "confirm"], summary: "Have a running lock believe its database as it is.",
        details: [
            "For a lock whose database is in doubt: after a backup was restored, or when its anchor is lost. A restored "
                + "database knows everybody whom you have revoked since: compare `status` with what you know first, and "
                + "remove them afterwards. The audit says that you did this, and why it was asked."
        ],
        options: ControlPlace.options + [Commands.json],
        examples: ["latch peripheral confirm --state /var/lib/latch"]
    ) { arguments in
        try ControlCommand.run(PeripheralRequest.confirmState, role: .peripheral, arguments: arguments) { result in
            Output.line(result["changed"] == .bool(true) ? "confirmed" : "nothing is in doubt")
        }
    }

    static let status = CommandSpec(
        path: ["peripheral", "status"], summary: "Say what a running lock is doing.",
        details: [
            "Says who has enrolled, in pages of which it asks for all. With --limit or --after it asks for one, in the order "
                + "of the lock's own numbers; `next` says where another begins, and is missing from the last.",
            "`alarms` says how many there were of each kind since the lock's program began, and the last one.",
        ],
        options: ControlPlace.options + page + [Commands.json],
        examples: [
            "latch peripheral status --state /var/lib/latch --json",
            "latch peripheral status --state /var/lib/latch --limit 20",
        ]
    ) { arguments in try ControlCommand.status(try page(arguments), arguments: arguments) }

    static let bonds = CommandSpec(
        path: ["peripheral", "bonds"], summary: "List the bonds of a running lock.",
        details: [
            "Lists confirmed bonds with the credential that names them, and then the bonds that wait for their proof. An "
                + "unconfirmed bond ends by itself (`seconds_left`): a day after its pairing, counted while the lock's machine runs; half of "
                + "that in each later boot.",
            "Without --limit and --after it asks for all pages, as `status` does.",
        ],
        options: ControlPlace.options + page + [Commands.json],
        examples: ["latch peripheral bonds --state /var/lib/latch --json"]
    ) { arguments in try ControlCommand.bonds(try page(arguments), arguments: arguments) }

    static let users = CommandSpec(
        path: ["peripheral", "users"], summary: "List the users of a running lock, and their devices.",
        details: [
            "A user is whoever has one device or more. Each device has a key and a role of its own; a user's kind and schedule are "
                + "those of all devices.",
            "Without --limit and --after it asks for all pages, as `status` does.",
        ],
        options: ControlPlace.options + [
            .value(
                "limit", "N", "One page of N users at most, \(PeripheralRequest.UsersPage.maximumUsers) by default."),
            .value("after", "USER", "The page that begins behind this user."), Commands.json,
        ],
        examples: [
            "latch peripheral users --state /var/lib/latch",
            "latch peripheral users --state /var/lib/latch --after anna --limit 5 --json",
        ]
    ) { arguments in
        let most = PeripheralRequest.UsersPage.maximumUsers
        let page = try onePage(arguments, most: most).map { PeripheralRequest.UsersPage(limit: $0, after: $1) }
        return try ControlCommand.users(page, arguments: arguments)
    }

    static let deleteBond = CommandSpec(
        path: ["peripheral", "bonds", "delete"], summary: "Delete a bond that no credential names.",
        details: [
            "Its links end at once, and the audit says that it was deleted. A bond that a credential names goes with that: "
                + "`latch peripheral remove`."
        ],
        options: ControlPlace.options + [
            .value("bond", "ID", "The bond's number, as `bonds` lists it.", isRequired: true),
            Commands.json,
        ],
        examples: ["latch peripheral bonds delete --state /var/lib/latch --bond 6f3a0c12d4e5b789"]
    ) { arguments in
        try ControlCommand.run(
            PeripheralRequest.deleteBond(try arguments.required("bond")), role: .peripheral, arguments: arguments
        ) { result in Output.line("\(result["bond"]?.string ?? ""): deleted") }
    }

    static let mode = CommandSpec(
        path: ["peripheral", "mode"], summary: "Say or set what a running lock's door is for at present.",
        details: [
            "normal: everybody by role and schedule. passage: the bolt opens and stays open, and nobody locks. privacy: only owners "
                + "and administrators open. lockdown: nobody opens. Each of the last two locks at once, or when the door "
                + "closes, and so does the end of passage.",
            "A mode stays until it is changed, here or by an owner's or an administrator's device; a restart does not end it. "
                + "The audit says who changed it and when.",
        ],
        options: ControlPlace.options + [
            .choice("set", PeripheralRequest.Mode.allCases.map(\.rawValue), "Without it the present one is said."),
            Commands.json,
        ],
        examples: [
            "latch peripheral mode --state /var/lib/latch",
            "latch peripheral mode --state /var/lib/latch --set lockdown",
        ]
    ) { arguments in
        let mode = arguments["set"].flatMap(PeripheralRequest.Mode.init)
        return try ControlCommand.run(
            PeripheralRequest.mode(mode), role: .peripheral, arguments: arguments
        ) { result in
            let was = result["changed"] == .bool(false) ? " already" : ""
            Output.line((result["mode"]?.string ?? "") + was)
        }
    }

    static let reset = CommandSpec(
        path: ["peripheral", "factory-reset"], summary: "Remove everybody from a running lock.",
        details: [
            "Every credential, every bond and the window go, their links end at once, the mode is the normal one, and the "
                + "settings are those of the configuration over a new lock's. Nobody opens any more until somebody enrols at the "
                + "terminal. There is no way back.",
            "The audit stays and says who was removed. To give a machine away, erase its state instead: docs/OPERATING.md says how.",
        ],
        options: ControlPlace.options + [
            .flag("yes", "Do not ask. Without a terminal it is needed."), Commands.json,
        ],
        examples: ["latch peripheral factory-reset --state /var/lib/latch"]
    ) { arguments in
        try Confirmation.require("reset", "This removes every key from the lock, for good.", arguments)
        return try ControlCommand.run(PeripheralRequest.reset, role: .peripheral, arguments: arguments) { result in
            Output.line("\(result["removed"]?.number ?? 0) credentials removed")
        }
    }

    /// Of the status, or of the bonds.
    private static let page: [OptionSpec] = [
        .value("limit", "N", "One page of N rows at most, \(PeripheralRequest.StatusPage.maximumRows) by default."),
        .value("after", "CURSOR", "The page that begins where another one's `next` says."),
    ]

    private static func page(_ arguments: ParsedArguments) throws -> PeripheralRequest.StatusPage? {
        try onePage(arguments, most: PeripheralRequest.StatusPage.maximumRows).map {
            PeripheralRequest.StatusPage(limit: $0, after: $1)
        }
    }

    /// The one page that is asked for; nil where all are.
    private static func onePage(_ arguments: ParsedArguments, most: Int64) throws -> (limit: Int64, after: String?)? {
        let limit: Int64? = try arguments.integer("limit", in: 1...most)
        let after = arguments["after"]
        return limit == nil && after == nil ? nil : (limit ?? most, after)
    }

    static let stop = CommandSpec(
        path: ["peripheral", "stop"], summary: "End a running lock's daemon cleanly.",
        details: [
            "Under systemd its unit starts the next one at once. `systemctl stop latch-peripheral` keeps it down."
        ],
        options: ControlPlace.options + [Commands.json], examples: ["latch peripheral stop --state /var/lib/latch"]
    ) { arguments in
        try ControlCommand.run(PeripheralRequest.stop, role: .peripheral, arguments: arguments) { _ in }
    }

    private static func administration(
        _ act: PeripheralRequest.Administration.Act, _ summary: String, _ details: [String]
    ) -> CommandSpec {
        CommandSpec(
            path: ["peripheral", act.rawValue], summary: summary, details: details,
            options: ControlPlace.options + whom + [Commands.json],
            examples: [
                "latch peripheral \(act.rawValue) --state /var/lib/latch --credential anna-watch",
                "latch peripheral \(act.rawValue) --state /var/lib/latch --user anna",
            ]
        ) { arguments in
            let request = PeripheralRequest.Administration(act, try whom(arguments))
            return try ControlCommand.run(
                PeripheralRequest.administer(request), role: .peripheral, arguments: arguments
            ) { showChange($0) }
        }
    }

    /// Whom a command concerns: one of both.
    static let whom: [OptionSpec] = [
        .value("credential", "NAME", "The device that it concerns, as named at enrolment."),
        .value("user", "NAME", "The user whose devices it concerns, all of them."),
    ]

    static func whom(_ arguments: ParsedArguments) throws(Failure) -> PeripheralRequest.Whom {
        switch (arguments["credential"], arguments["user"]) {
        case (let credential?, nil): return .credential(credential)
        case (nil, let user?): return .user(user)
        case (nil, nil), (.some, .some):
            throw Failure(.usage, "one of `--credential` and `--user` says whom it concerns")
        }
    }

    /// `state`: what to call what the daemon did, if not by its own word.
    static func showChange(_ result: JSONObject, state: String? = nil) {
        let was = result["changed"] == .bool(false) ? " already" : ""
        let name = (result["credential"] ?? result["user"])?.string ?? ""
        Output.line("\(Output.shown(name)): \(state ?? result["state"]?.string ?? "")\(was)")
    }
}
