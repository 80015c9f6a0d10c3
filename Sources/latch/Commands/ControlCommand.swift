import BluetoothCore
import CLinux
import DaemonControl
import Glibc
import StatePersistence

/// Asks a running daemon, and turns its answer into lines and an exit code.
enum ControlCommand {
    /// A reply waits for its commit, and a commit for others who hold the file.
    static let answerMilliseconds = UInt64(DatabaseLimits.commitWaitMaximumMilliseconds) + 5_000

    static func run(
        _ request: some ControlRequest, role: StateDirectory.Role, arguments: ParsedArguments,
        waitMilliseconds: UInt64 = answerMilliseconds, event: (String, JSONObject) -> Void = { _, _ in },
        result: (JSONObject) -> Void
    ) throws -> ExitCode {
        let socket = try StateDirectory(try arguments.required("state")).controlSocket(role)
        let isJSON = arguments.has("json")
        let deadline = Instant(nanoseconds: latch_boottime_nanoseconds()).advanced(byMilliseconds: waitMilliseconds)
        do {
            let answer = try ControlClient.ask(socket, request, deadline: deadline) { name, fields in
                guard isJSON else { return event(name, fields) }
                var line: JSONObject = ["event": .string(name)]
                for member in fields.members { line[member.name] = member.value }
                Output.line(.object(line))
            }
            if isJSON { Output.line(["result": .object(answer)]) } else { result(answer) }
            return .ok
        } catch let error as ControlClientError {
            throw Failure(error.exitCode, error.description)
        } catch let failure as ControlFailure {
            throw Failure(failure.code.exitCode, failure.message)
        }
    }
}

extension ControlClientError {
    fileprivate var exitCode: ExitCode {
        switch self {
        case .notRunning, .timeout, .closed: .unavailable
        case .notPermitted, .pathTooLong, .malformed, .failed: .state
        }
    }
}

extension ControlFailure.Code {
    fileprivate var exitCode: ExitCode {
        switch self {
        case .timeout, .stopping: .unavailable
        case .noRadio: .transport
        default: .refused
        }
    }
}
