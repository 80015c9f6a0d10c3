import Glibc

/// Settings with nothing left open: every path is known and the directory is there.
struct DaemonPlan {
    let role: StateDirectory.Role
    let transport: String
    let directory: StateDirectory
    let database: String
    let machineKey: String
    let restoreIdentifier: String
    let journal: String?
    let capture: String?
    let log: Log

    init(_ settings: DaemonSettings, role: StateDirectory.Role) throws(Failure) {
        guard let transport = settings.transport else {
            throw Failure(
                .usage,
                "no controller is named: give `--transport ADDRESS`, or `transport = \"…\"` in the "
                    + "configuration file (for instance hci:0)")
        }
        guard let state = settings.stateDirectory else {
            throw Failure(
                .usage, "no state directory is named: give `--state DIR`, or `state = \"…\"` in the configuration file")
        }
        directory = try StateDirectory(state)
        self.role = role
        self.transport = transport
        database = settings.database ?? directory.database
        machineKey = settings.machineKey ?? Self.credential("machine.key") ?? directory.machineKey
        restoreIdentifier = settings.restoreIdentifier
        journal = settings.journal
        capture = settings.capture
        let format: Log.Format = settings.logsJSON ? .json : getenv("JOURNAL_STREAM") == nil ? .text : .journal
        log = Log(level: Log.Level(rawValue: settings.logLevel) ?? .info, format: format)
    }

    /// A file that systemd handed over, if it handed this one.
    private static func credential(_ name: String) -> String? {
        guard let directory = getenv("CREDENTIALS_DIRECTORY") else { return nil }
        let path = String(cString: directory) + "/" + name
        return access(path, R_OK) == 0 ? path : nil
    }
}
