import CLinux
import CommandInterface
import Glibc

/// Where a user's own key is, which nobody has to name: the directories that every program of his has.
///
/// XDG Base Directory Specification 0.8
struct UserPlace: Equatable, Sendable {
    let state: String
    let configuration: String

    /// nil where the environment names no home. What is no absolute path there counts as if it were not set.
    init?(_ environment: (String) -> String? = Environment.variable) {
        func directory(_ name: String, _ usual: String) -> String? {
            [environment(name), environment("HOME").map { "\($0)/\(usual)" }].compactMap(\.self).first {
                $0.hasPrefix("/")
            }
        }
        guard let state = directory("XDG_STATE_HOME", ".local/state"),
            let configuration = directory("XDG_CONFIG_HOME", ".config")
        else { return nil }
        self.state = "\(state)/latch-key"
        self.configuration = "\(configuration)/latch/central.conf"
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

    /// What is taken where neither the file nor the command line says it.
    func complete(_ daemon: inout DaemonSettings) {
        daemon.stateDirectory = daemon.stateDirectory ?? state
        daemon.transport = daemon.transport ?? "bluez"
    }
}
