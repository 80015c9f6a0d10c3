import CommandInterface
import DaemonControl
import StatePersistence

extension StateCommands {
    private enum Role: String, CaseIterable { case peripheral, central }

    /// `latch state forget`: what is kept under restore identifiers, and the end of one of them.
    static let forget = CommandSpec(
        path: ["state", "forget"], summary: "Forget what is kept under a restore identifier.",
        details: [
            "Without --restore-id it lists the identifiers that a daemon has had, and what is kept under each: published "
                + "services, advertising, a scan, connections that are asked for. One that no daemon has claimed for 30 s is at "
                + "rest: nothing of it is on the air, and all of it comes back with its identifier. Forgotten, it does not. Bonds "
                + "and credentials belong to the daemon, whatever its identifier, and stay. The daemon must not run."
        ],
        options: [
            state, database, .value("restore-id", "ID", "The identifier to forget, as the list has it."),
            .choice("role", Role.allCases.map(\.rawValue), "Whose, where both roles of a shared database have it."),
            Commands.json,
        ],
        examples: [
            "latch state forget --state /var/lib/latch",
            "latch state forget --state /var/lib/latch --restore-id old-door",
        ]
    ) { arguments in
        try refusing {
            let path = try path(arguments)
            let managers = try StateInspector(path: path).managers()
            guard let identifier = arguments["restore-id"] else {
                for manager in managers { try show(manager, at: path, arguments) }
                return .ok
            }
            let manager = try choose(identifier, role: arguments["role"], from: managers, at: path)
            do { try manager.forget(at: path, components: components) } catch StoreError.identityClaimed(_, let pid) {
                throw Failure(
                    .state,
                    "\(path): process \(pid) is the \(manager.identity) daemon of this database, and may use "
                        + "\"\(identifier)\": stop it, then forget the identifier")
            }
            if arguments.has("json") {
                Output.line(["result": ["forgotten": .string(identifier), "role": .string(manager.role)]])
            }
            return .ok
        }
    }

    private static func choose(
        _ identifier: String, role: String?, from managers: [KeptManager], at path: String
    ) throws(Failure) -> KeptManager {
        let found = managers.filter { $0.identifier == identifier && (role == nil || $0.role == role) }
        guard let first = found.first else {
            let whose = role.map { "a \($0)'s " } ?? ""
            throw Failure(
                .refused,
                "\(path): nothing is kept under \(whose)restore identifier \"\(identifier)\": without --restore-id the command "
                    + "lists what there is")
        }
        guard found.count == 1 else {
            throw Failure(
                .usage, "\(path): both roles have restore identifier \"\(identifier)\": say which with --role")
        }
        return first
    }

    private static func show(_ manager: KeptManager, at path: String, _ arguments: ParsedArguments) throws {
        var fields: JSONObject = [
            "restore_id": .string(manager.identifier), "role": .string(manager.role),
            "at_rest": .bool(manager.isAtRest), "services": JSONValue(manager.services),
            "advertising": .bool(manager.isAdvertising), "scanning": .bool(manager.isScanning),
            "connections_asked_for": JSONValue(manager.pendingConnections),
            "subscriptions": JSONValue(manager.subscriptions), "updates_kept": JSONValue(manager.queuedUpdates),
        ]
        if let pid = try RestoreClaim.holder(of: manager.identity, beside: path) {
            fields["daemon_pid"] = JSONValue(Int64(pid))
        }
        if arguments.has("json") { Output.line(.object(fields)) } else { Output.fields(fields) }
    }
}
