import CLinux
import CommandInterface
import Glibc

/// Where a user's own key is, which nobody has to name: the directories that every program of his has.
///
/// XDG Base Directory Specification 0.8
struct UserPlace: Equatable, Sendable {
    let state: String
    let configuration: String
    /// Variables that lead elsewhere than without them. Those of a shell's profile are unknown to the manager of the user's services.
    let variables: [String]

    /// nil where the environment names no home. What is no absolute path there counts as if it were not set.
    init?(_ environment: (String) -> String? = Environment.variable) {
        var variables: [String] = []
        func directory(_ name: String, _ usual: String) -> String? {
            let paths = [environment(name), environment("HOME").map { "\($0)/\(usual)" }]
                .map { $0.flatMap { $0.hasPrefix("/") ? $0 : nil } }
            if let own = paths[0], own != paths[1] { variables.append(name) }
            return paths[0] ?? paths[1]
        }
        guard let state = directory("XDG_STATE_HOME", ".local/state"),
            let configuration = directory("XDG_CONFIG_HOME", ".config")
        else { return nil }
        self.state = "\(state)/latch-key"
        self.configuration = "\(configuration)/latch/central.conf"
        self.variables = variables
    }

    /// Of a command that names no daemon.
    init?(_ arguments: ParsedArguments, role: StateDirectory.Role) {
        guard role == .central, ["state", "config", "socket"].allSatisfy({ arguments[$0] == nil }) else { return nil }
        self.init()
    }

    /// The file with the settings, where there is one.
    var file: String? { exists(configuration) ? configuration : nil }

    var hasState: Bool { exists(state) }

    private func exists(_ path: String) -> Bool {
        var information = stat()
        return stat(path, &information) == 0
    }

    /// Makes the state directory, and those above it that are missing, for this user alone.
    ///
    /// - Throws: A ``Failure`` that names the directory which cannot be made.
    func make() throws(Failure) {
        var path = ""
        for name in state.split(separator: "/") {
            path += "/\(name)"
            guard !exists(path), mkdir(path, 0o700) != 0, errno != EEXIST else { continue }
            throw Failure(
                .state, "directory \(path) cannot be made: \(String(cString: strerror(errno))): give --state DIR")
        }
    }

    /// Why the user's service may have its place elsewhere, to be said behind an error; empty where nothing speaks for that.
    var doubt: String {
        guard !variables.isEmpty else { return "" }
        let names = variables.joined(separator: " ")
        return ". The service `latch-central` may not have what this shell sets as \(names): hand it over "
            + "(`systemctl --user import-environment \(names)`, then restart the service), or try again with it unset"
    }

    /// What is taken where neither the file nor the command line says it.
    func complete(_ daemon: inout DaemonSettings) {
        daemon.stateDirectory = daemon.stateDirectory ?? state
        daemon.transport = daemon.transport ?? "bluez"
    }
}
