/// What the exit status says to scripts and service managers. `latch --help` and docs/OPERATING.md list the same.
enum ExitCode: Int32, CaseIterable, Sendable {
    case ok = 0
    case refused = 1
    case usage = 2
    case configuration = 3
    case state = 4
    case transport = 5
    case unavailable = 6

    var meaning: String {
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
    var name: String {
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
struct Failure: Error, Equatable, CustomStringConvertible {
    var code: ExitCode
    var message: String

    init(_ code: ExitCode, _ message: String) {
        self.code = code
        self.message = message
    }

    var description: String { message }
}
