import CLinux
import CommandInterface
import DaemonControl
import Glibc
import HCITransport
import HostComposition
import StatePersistence

/// `run --check`: all that is wrong with a configuration, as far as that shows without a launch. It makes and changes nothing.
enum ConfigurationCheck {
    static func run<Settings: DaemonConfiguration>(
        _ source: ConfigurationSource<Settings>, _ role: StateDirectory.Role, _ arguments: ParsedArguments
    ) -> ExitCode {
        let faults = faults(of: source, role)
        if arguments.has("json") {
            Output.line(["result": ["faults": .array(faults.map { .string($0) })]])
        } else if faults.isEmpty {
            Output.line("nothing is wrong with \(source.file.map(Output.shown) ?? "the command line")")
        }
        for fault in faults { Output.failure(Failure(.configuration, fault), of: "latch", json: false) }
        return faults.isEmpty ? .ok : .configuration
    }

    /// Each in a line that says what to do.
    static func faults<Settings: DaemonConfiguration>(
        of source: ConfigurationSource<Settings>, _ role: StateDirectory.Role
    ) -> [String] {
        let (_, settings, faults) = source.read()
        // A launch makes the user's own.
        if let user = source.user, settings.daemon.stateDirectory == user.state, !user.hasState { return faults }
        return faults + PlaceCheck(settings.daemon, role, more: settings.files).faults
    }
}

/// Looks at the places that a daemon's settings name.
private struct PlaceCheck {
    private(set) var faults: [String] = []

    init(_ daemon: DaemonSettings, _ role: StateDirectory.Role, more files: [(key: String, path: String?)]) {
        checkTransport(daemon.transport)
        var directory: StateDirectory?
        if let state = daemon.stateDirectory {
            // What lies in one that others may enter is looked at as well.
            note { directory = try StateDirectory(readable: state) }
            note { try directory?.requireUsable() }
        } else {
            faults.append(DaemonPlan.noState.message)
        }
        if let database = daemon.database ?? directory?.database {
            note { try StateFiles.check(database: database) }
            note {
                try Dumps.forbid()
                try Self.checkMachineKey(daemon, directory, database)
            }
        }
        if role == .peripheral, let anchor = daemon.anchor ?? directory?.anchor {
            note { _ = try FileAnchor.look(at: anchor) }
        }
        if let socket = daemon.controlSocket ?? directory?.controlSocket(role) {
            // The directories there are systemd's, and come and go with the service.
            let isMade = socket.hasPrefix("/run/")
            note { try ControlServer.check(path: socket, group: daemon.controlGroup, mayBeMissing: isMade) }
        }
        for (key, path) in [("journal", daemon.journal), ("capture", daemon.capture)] + files {
            if let path { checkDirectory(of: path, key) }
        }
    }

    private mutating func note(_ check: () throws -> Void) {
        do { try check() } catch { faults.append(Failure(error).message) }
    }

    /// A controller that is not there is waited for.
    private mutating func checkTransport(_ text: String?) {
        guard let text else { return faults.append(DaemonPlan.noTransport.message) }
        note {
            guard case .controller(.serial(let device, _, _)) = try AirAddress(parsing: text) else { return }
            var status = stat()
            guard stat(device, &status) == 0, status.st_mode & S_IFMT != S_IFCHR else { return }
            throw Failure(
                .transport, "key `transport`: \(device) is no serial line: name a device such as /dev/ttyAMA0")
        }
    }

    /// One that is nowhere may be a credential that the service manager hands over, or is made at the first launch.
    private static func checkMachineKey(
        _ daemon: DaemonSettings, _ directory: StateDirectory?, _ database: String
    ) throws(StoreError) {
        guard let file = daemon.machineKey ?? directory?.machineKey else { return }
        let credentials = Environment.variable("CREDENTIALS_DIRECTORY")
        do throws(StoreError) {
            try StateFiles.checkMachineKey(
                credentialsDirectory: daemon.machineKey == nil ? credentials : nil, file: file)
        } catch .machineKeyMissing(let path) {
            guard daemon.machineKey != nil, try StateFiles.exists(database) else { return }
            throw .machineKeyMissing(path: path)
        }
    }

    private mutating func checkDirectory(of file: String, _ key: String) {
        let directory = StateFile.directory(of: file)
        var status = stat()
        guard stat(directory, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            return faults.append(
                "key `\(key)`: \(file): there is no directory \(directory): make it, or name another file")
        }
        guard access(directory, W_OK | X_OK) == 0 else {
            return faults.append(
                "key `\(key)`: \(file): this user may not write to \(directory): `chown` it to the daemon's user, or name "
                    + "another file")
        }
    }
}
