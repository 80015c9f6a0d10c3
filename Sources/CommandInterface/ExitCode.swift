/// What the exit status says to scripts and service managers. `latch --help` and docs/OPERATING.md list the same.
package enum ExitCode: Int32, CaseIterable, Sendable {
    case ok = 0
    case refused = 1
    case usage = 2
    case configuration = 3
    case state = 4
    case transport = 5
    case unavailable = 6

    package var meaning: String {
        switch self {
        case .ok: "done"
        case .refused: "failed, or refused by the peer or a policy"
        case .usage: "the command line is wrong"
        case .configuration: "the configuration file is wrong"
        case .state: "the state directory, its database or its keys cannot be used"
        case .transport: "the controller or the way to it cannot be used"
        case .unavailable: "the daemon is not running, or the time is over"
        }
    }

    /// For programs that read `--json`.
    package var name: String {
        switch self {
        case .ok: "ok"
        case .refused: "refused"
        case .usage: "usage"
        case .configuration: "configuration"
        case .state: "state"
        case .transport: "transport"
        case .unavailable: "unavailable"
        }
    }
}

/// Why a command ends without having done what it was asked: one line that says what is wrong and what to do.
package struct Failure: Error, Equatable, CustomStringConvertible {
    package var code: ExitCode
    package var message: String

    package init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
