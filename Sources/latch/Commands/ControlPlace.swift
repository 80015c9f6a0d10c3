import CLinux
import CommandInterface
import DaemonControl
import Glibc

/// Which daemon a command is for, as its operator says it in one of three ways, or the user's own key.
enum ControlPlace {
    case state(String)
    /// The file that the daemon was started with.
    case config(String)
    case socket(String)

    static let options: [OptionSpec] = [
        .value(
            "state", "DIR",
            "The daemon's state directory, mode 0700. A lock needs this, --config or --socket; without them it is this user's own key."
        ),
        .value("config", "FILE", "The daemon's configuration file, which says where it listens."),
        .value("socket", "PATH", "The daemon's control socket, where it is not in the state directory."),
    ]

    /// - Throws: A ``Failure`` where the words name two daemons, or none and this user has no key of his own.
    init(_ arguments: ParsedArguments, role: StateDirectory.Role) throws(Failure) {
        let named = Self.options.filter { arguments[$0.name] != nil }.map { "`--\($0.name)`" }
        guard named.count <= 1 else {
            throw Failure(
                .usage,
                "options \(named.joined(separator: " and ")) each name a daemon: keep one of them")
        }
        if let directory = arguments["state"] {
            self = .state(directory)
        } else if let file = arguments["config"] {
            self = .config(file)
        } else if let path = arguments["socket"] {
            self = .socket(path)
        } else {
            let user = UserPlace(arguments, role: role)
            guard let place = user.flatMap(Self.init) else { throw Self.unnamed(arguments, user) }
            self = place
        }
    }

    private static func unnamed(_ arguments: ParsedArguments, _ user: UserPlace?) -> Failure {
        let own = user.map {
            "; this user's own would be in \($0.state), and is started by `systemctl --user start latch-central`"
                + $0.doubt
        }
        return Failure(
            .usage,
            "`\(arguments.command)` needs to know which daemon: give `--state DIR`, `--config FILE` or "
                + "`--socket PATH` (see `\(arguments.command) --help`)" + (own ?? ""))
    }

    /// Of the user's own key; nil before it has been started once.
    private init?(_ user: UserPlace) {
        if let file = user.file, let named = try? Self.settings(.central, file),
            named.stateDirectory != nil || named.controlSocket != nil
        {
            self = .config(file)
        } else if user.hasState {
            self = .state(user.state)
        } else {
            return nil
        }
    }

    /// Connects to the daemon that listens there, and to nobody else who might.
    ///
    /// - Throws: ``ControlClientError``, or a ``Failure`` when the directory or the file cannot be used.
    func connect(_ role: StateDirectory.Role) throws -> ControlClient {
        switch self {
        case .state(let directory):
            return try ControlClient(connectingTo: try StateDirectory(directory).controlSocket(role))
        case .socket(let path): return try ControlClient(connectingTo: path)
        case .config(let file):
            let settings = try Self.settings(role, file)
            guard let path = settings.controlSocket else {
                guard let directory = settings.stateDirectory else {
                    throw Failure(
                        .configuration,
                        "configuration file \(file) names no daemon: set `state` in it, or give `--state DIR`")
                }
                return try Self.state(directory).connect(role)
            }
            return try ControlClient(connectingTo: path, of: settings.stateDirectory.flatMap(Self.owner))
        }
    }

    /// Why nobody may be there though a daemon runs; empty where the operator knows as much.
    var doubt: String {
        guard case .config(let file) = self else { return "" }
        return "; one that was started before `state` or `socket` changed in \(file) listens where it did: restart it"
    }

    private static func settings(_ role: StateDirectory.Role, _ file: String) throws(Failure) -> DaemonSettings {
        switch role {
        case .peripheral: try PeripheralSettings.load(file).daemon
        case .central: try CentralSettings.load(file).daemon
        }
    }

    /// Of a directory that this user may not read: its state is the daemon's, and so is its socket.
    private static func owner(_ directory: String) -> uid_t? {
        var found = stat()
        return stat(directory, &found) == 0 ? found.st_uid : nil
    }
}
