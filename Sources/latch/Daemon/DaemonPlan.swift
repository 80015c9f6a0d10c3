import CLinux
import CommandInterface
import Glibc
import HCITransport
import HostComposition
import LockPersistence
import StatePersistence

/// Settings with nothing left open: every path is known and the directory is there.
struct DaemonPlan {
    let role: StateDirectory.Role
    let transport: AirAddress
    let directory: StateDirectory
    let database: String
    /// Used when no credential was handed over.
    let machineKeyFile: String
    /// Where systemd put this service's credentials.
    let credentialsDirectory: String?
    /// Where the name of the lock's present state is kept, apart from the database.
    let anchor: String
    let controlSocket: String
    let controlGroup: String?
    let restoreIdentifier: String
    let isPrivate: Bool
    let journal: String?
    let capture: String?
    let log: Log

    init(_ settings: DaemonSettings, role: StateDirectory.Role) throws(Failure) {
        guard let address = settings.transport else { throw Self.noTransport }
        do throws(TransportError) {
            transport = try AirAddress(parsing: address)
        } catch {
            throw Failure(.usage, "option `--transport`: \(error)")
        }
        if case .blueZ = transport, role == .peripheral { throw Self.noLockThere }
        guard let state = settings.stateDirectory else { throw Self.noState }
        directory = try StateDirectory(readable: state)
        self.role = role
        database = settings.database ?? directory.database
        machineKeyFile = settings.machineKey ?? directory.machineKey
        anchor =
            settings.anchor ?? Self.serviceAnchor(Environment.variable("STATE_DIRECTORY"))
            ?? directory.anchor
        let credentials = Environment.variable("CREDENTIALS_DIRECTORY")
        credentialsDirectory = settings.machineKey == nil ? credentials : nil
        controlSocket = settings.controlSocket ?? directory.controlSocket(role)
        controlGroup = settings.controlGroup
        restoreIdentifier = settings.restoreIdentifier
        isPrivate = settings.isPrivate
        journal = settings.journal
        capture = settings.capture
        log = Log(settings)
    }

    static let noTransport = Failure(
        .usage,
        "no controller is named: give `--transport ADDRESS`, or `transport = \"…\"` in the configuration file "
            + "(for instance hci:0)")
    static let noLockThere = Failure(
        .usage,
        "a lock has a controller of its own, and none of bluetoothd's: give `--transport hci:N` with another adapter")
    static let noState = Failure(
        .usage, "no state directory is named: give `--state DIR`, or `state = \"…\"` in the configuration file")

    /// In the second of the directories that systemd made for the service, separated by colons: the unit's first is the state.
    static func serviceAnchor(_ directories: String?) -> String? {
        guard let directories = directories?.split(separator: ":"), directories.count > 1 else { return nil }
        return "\(directories[1])/\(StateDirectory.anchorName)"
    }

    /// Both roles' tables are in each file: they may share one.
    static let components: [SchemaComponent] = [.host, .lock, .key]

    /// A large file is checked behind that (``FileCheck``): a door waits for none of it.
    func openState() throws -> StateStore {
        try StateStore(
            path: database, machineKeyFile: machineKeyFile, credentialsDirectory: credentialsDirectory,
            components: Self.components, check: .brief, identity: role.rawValue,
            adoptsRows: { [role, anchor] in
                // With an anchor the lock's rows were authenticated once: rows without MACs are not its own.
                guard role == .peripheral else { return true }
                return try !FileAnchor.exists(anchor)
            })
    }
}

extension Log {
    init(_ settings: DaemonSettings) {
        let format: Format = settings.logsJSON ? .json : getenv("JOURNAL_STREAM") == nil ? .text : .journal
        self.init(level: Level(rawValue: settings.logLevel) ?? .info, format: format)
    }
}
