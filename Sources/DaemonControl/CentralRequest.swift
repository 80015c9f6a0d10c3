/// What an operator asks of the key's daemon.
package enum CentralRequest: ControlRequest {
    case status
    /// Enrols this key at the lock that the setup code names.
    case enroll(code: SecretText)
    /// Asks a lock to move. The exchange ends with its receipt, or when the wait is over; then nobody knows whether the
    /// lock acted, and the key asks it at the next connection.
    case command(Command)
    /// Every state transition from now on, until the client goes.
    case events
    /// Reads the configuration file anew.
    case reload
    /// Ends the daemon cleanly.
    case stop

    package struct Command: Equatable, Sendable {
        package enum Operation: String, CaseIterable, Sendable { case lock, unlock }

        package static let defaultWaitSeconds: Int64 = 10
        package static let maximumWaitSeconds: Int64 = 3600

        package var operation: Operation
        /// The name or identifier of a lock; nil when only one is enrolled.
        package var lock: String?
        package var waitSeconds: Int64

        package init(operation: Operation, lock: String?, waitSeconds: Int64) {
            self.operation = operation
            self.lock = lock
            self.waitSeconds = waitSeconds
        }
    }

    /// Takes the members that the request has.
    ///
    /// - Throws: ``ControlFailure`` when the name is unknown, or a member is missing or out of its bounds.
    package init(name: String, fields: inout RequestFields) throws(ControlFailure) {
        switch name {
        case "status": self = .status
        case "events": self = .events
        case "reload": self = .reload
        case "stop": self = .stop
        case "enroll": self = .enroll(code: SecretText(try fields.text("code")))
        case "command":
            let operation: Command.Operation = try fields.choice("operation", default: nil)
            let lock = try fields.optionalText("lock")
            let wait = try fields.number(
                "wait", in: 1...Command.maximumWaitSeconds, default: Command.defaultWaitSeconds)
            self = .command(Command(operation: operation, lock: lock, waitSeconds: wait))
        default: throw .unknown(name, known: ["status", "enroll", "command", "reload", "events", "stop"])
        }
    }

    package var encoded: (name: String, fields: JSONObject) {
        switch self {
        case .status: return ("status", [:])
        case .events: return ("events", [:])
        case .reload: return ("reload", [:])
        case .stop: return ("stop", [:])
        case .enroll(let code): return ("enroll", ["code": code.withText { .string($0) }])
        case .command(let command):
            var fields: JSONObject = ["operation": .string(command.operation.rawValue)]
            fields["lock"] = command.lock.map { .string($0) }
            fields["wait"] = .number(command.waitSeconds)
            return ("command", fields)
        }
    }
}
