import CommandInterface
import DaemonControl

/// `latch peripheral unlock` and `lock`: the bolt, by who is at the machine.
enum OperationCommands {
    static let all = [unlock, lock]

    private static let unlock = operation(.unlock, "Open a running lock, from the machine.")
    private static let lock = operation(.lock, "Close a running lock, from the machine.")

    /// Longer than the lock waits for its bolt, so that it ends with the outcome.
    private static let waitSeconds: Int64 = 15

    private static func operation(_ operation: PeripheralRequest.Operation, _ summary: String) -> CommandSpec {
        CommandSpec(
            path: ["peripheral", operation.rawValue], summary: summary,
            details: [
                "Counts as an owner's command that came now: what the mode, a fire or an open door forbids is refused, and the bolt "
                    + "goes back by itself as the lock is set. The audit says who asked.",
                "Ends when the bolt has come to its end. When the wait is over before that (exit status 6) the movement goes on: "
                    + "`latch peripheral status` says where the bolt is.",
            ],
            options: ControlPlace.options + [
                .value(
                    "wait", "SECONDS", "How long to wait for the bolt; \(waitSeconds) by default."),
                Commands.json,
            ],
            examples: ["latch peripheral \(operation.rawValue) --state /var/lib/latch"]
        ) { arguments in
            let wait: Int64 =
                try arguments.integer("wait", in: 1...CentralRequest.Command.maximumWaitSeconds) ?? waitSeconds
            return try ControlCommand.run(
                PeripheralRequest.operate(operation), role: .peripheral, arguments: arguments,
                waitMilliseconds: UInt64(wait) * 1_000
            ) { result in
                let was = result["changed"] == .bool(false) ? " already" : ""
                Output.line((result["bolt"]?.string ?? "") + was)
            }
        }
    }
}
