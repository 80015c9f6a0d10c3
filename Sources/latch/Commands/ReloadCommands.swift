import CommandInterface
import DaemonControl

/// `latch peripheral reload` and `latch central reload`.
enum ReloadCommands {
    static let all = [
        reload(PeripheralRequest.reload, .peripheral, "lock"), reload(CentralRequest.reload, .central, "key"),
    ]

    private static func reload(
        _ request: some ControlRequest, _ role: StateDirectory.Role, _ name: String
    ) -> CommandSpec {
        CommandSpec(
            path: [role.rawValue, "reload"], summary: "Have a running \(name) read its configuration file anew.",
            details: [
                "Links stay, and nothing is put off. What a running daemon cannot take is named as waiting for a restart. A file with a "
                    + "fault changes nothing, and is status 3."
            ],
            options: ControlPlace.options + [Commands.json],
            examples: ["latch \(role.rawValue) reload --config /etc/latch/\(role.rawValue).conf"]
        ) { arguments in
            try ControlCommand.run(request, role: role, arguments: arguments) { result in
                let changed = list(result["changed"])
                Output.line(changed.isEmpty ? "nothing has changed" : "changed: \(changed)")
                let waiting = list(result["needs_restart"])
                if !waiting.isEmpty { Output.line("needs a restart: \(waiting)") }
            }
        }
    }

    private static func list(_ value: JSONValue?) -> String {
        (value?.array ?? []).compactMap(\.string).joined(separator: ", ")
    }
}
