import CommandInterface
import DaemonControl

/// Reads a daemon's configuration anew while it runs: at SIGHUP, or when an operator asks. A file with a fault changes nothing.
final class ConfigurationReload<Settings: DaemonConfiguration> {
    private let source: ConfigurationSource<Settings>
    /// What the daemon goes by.
    private var settings: Settings
    private let journal: EventJournal
    private let take: (Settings) throws -> Void

    /// `take`: what a role makes of settings of which only live keys have changed.
    init(
        _ source: ConfigurationSource<Settings>, _ settings: Settings, _ journal: EventJournal,
        take: @escaping (Settings) throws -> Void
    ) {
        self.source = source
        self.settings = settings
        self.journal = journal
        self.take = take
    }

    /// Reads, takes and tells, in an iteration of the host's.
    func perform() throws(ControlFailure) -> JSONObject {
        let (file, read, faults) = source.read()
        guard let file else {
            let remedy =
                source.user.map { "write \($0.configuration), and reload again" }
                ?? "start it with `--config FILE`"
            throw ControlFailure(.refused, "this daemon runs without a configuration file: \(remedy)")
        }
        guard faults.isEmpty else { throw refuse(file, faults) }
        let change = SettingsChange(from: settings, to: read)
        let next = settings.taking(liveFrom: read)
        do { try take(next) } catch { throw refuse(file, [Failure(error).message]) }
        settings = next
        journal.log = Log(next.daemon)
        let fields: JSONObject = [
            "file": .string(file), "changed": .array(change.taken.map { .string($0) }),
            "needs_restart": .array(change.needsRestart.map { .string($0) }),
        ]
        journal.record("reloaded", fields, level: change.needsRestart.isEmpty ? .info : .warning)
        return fields
    }

    private func refuse(_ file: String, _ faults: [String]) -> ControlFailure {
        journal.record(
            "reload_failed", ["file": .string(file), "faults": .array(faults.map { .string($0) })], level: .error)
        let more = faults.count > 1 ? " (and \(faults.count - 1) more: `run --check` has all)" : ""
        return ControlFailure(.configuration, "nothing has changed: \(faults.first ?? "")\(more)")
    }
}
