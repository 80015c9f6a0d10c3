import CommandInterface
import DaemonControl
import LockCentral

/// A role's whole configuration.
protocol DaemonConfiguration: ConfiguredSettings, Equatable, Sendable {
    var daemon: DaemonSettings { get set }
    /// What no key says alone: which program cannot be run, which keys contradict each other.
    func faults(in file: String) -> [Failure]
    /// Files of this role's that a launch makes, each with its key; nil for its usual place.
    var files: [(key: String, path: String?)] { get }
}

extension DaemonConfiguration {
    static var unreadable: ExitCode { .state }
}

extension PeripheralSettings {
    func faults(in file: String) -> [Failure] {
        var faults = bolt.faults(in: file)
        if let alarmHook {
            faults += OperatorProgram(path: alarmHook, section: "alarms", key: "hook").faults(in: file)
        }
        return faults
    }

    var files: [(key: String, path: String?)] {
        // The directories there are systemd's, and come and go with the service.
        let metrics = metricsFile.flatMap { $0.hasPrefix("/run/") ? nil : $0 }
        return [("bolt_journal", boltJournal), ("anchor", daemon.anchor), ("file", metrics)]
    }
}

extension CentralSettings {
    func faults(in file: String) -> [Failure] {
        var faults: [Failure] = []
        if let approachProgram {
            faults += OperatorProgram(path: approachProgram, section: "proximity", key: "program").faults(in: file)
        }
        let least = ProximityRules.hysteresisMinimumDB
        if nearDBm - awayDBm < least {
            faults.append(
                Failure(
                    .configuration,
                    "keys `near_dbm` and `away_dbm` in section [proximity] of \(file) are \(nearDBm) and \(awayDBm): near has"
                        + " to be \(least) dB or more above away"))
        }
        return faults
    }

    var files: [(key: String, path: String?)] { [] }
}

/// Where a daemon's configuration comes from, as often as it is read: the file, and over it the command line.
struct ConfigurationSource<Settings: DaemonConfiguration>: Sendable {
    /// The user's own, where nothing else is named.
    let user: UserPlace?
    private let arguments: ParsedArguments

    init(_ arguments: ParsedArguments, user: UserPlace? = nil) {
        self.user = user
        self.arguments = arguments
    }

    /// Whether the command line says which file it is.
    var isNamed: Bool { arguments["config"] != nil }

    /// A user's own is looked for each time: it may be written while his key runs.
    var file: String? { arguments["config"] ?? user?.file }

    /// - Throws: A ``Failure`` with the first fault.
    func load() throws(Failure) -> Settings {
        let file = file
        let settings = overridden(try Settings.load(file))
        if let file, let first = settings.faults(in: file).first { throw first }
        return settings
    }

    /// The file that was read, the settings, as far as they can be read, and each fault in a line that says what to do.
    func read() -> (file: String?, settings: Settings, faults: [String]) {
        guard let file else { return (nil, overridden(Settings()), []) }
        do throws(Failure) {
            let (read, faults) = try Settings.read(file)
            let settings = overridden(read)
            return (file, settings, faults.map(\.description) + settings.faults(in: file).map(\.message))
        } catch {
            return (file, overridden(Settings()), [error.message])
        }
    }

    private func overridden(_ settings: Settings) -> Settings {
        var settings = settings
        Commands.override(&settings.daemon, with: arguments)
        user?.complete(&settings.daemon)
        return settings
    }
}
