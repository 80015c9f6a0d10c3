import CommandInterface
import DaemonControl
import Testing

@testable import latch

@Suite("Configuration: what changes while a daemon runs")
struct SettingsChangeTests {
    /// Settings in which this key alone is another one.
    private static func settings<Settings: ConfiguredSettings>(changing key: ConfigurationKey<Settings>) -> Settings {
        var settings = Settings()
        switch key.field {
        case .text(let path):
            settings[keyPath: path] =
                key.choices.first { $0 != settings[keyPath: path] } ?? settings[keyPath: path] + "x"
        case .optionalText(let path): settings[keyPath: path] = key.choices.first ?? "x"
        case .integer(let path, let range):
            settings[keyPath: path] =
                settings[keyPath: path] == range.upperBound ? range.lowerBound : range.upperBound
        case .optionalInteger(let path, let range): settings[keyPath: path] = range.upperBound
        case .boolean(let path): settings[keyPath: path].toggle()
        case .optionalBoolean(let path): settings[keyPath: path] = true
        }
        return settings
    }

    private static func live<Settings: ConfiguredSettings & Equatable>(_ type: Settings.Type) -> Set<String> {
        var live: Set<String> = []
        for key in Settings.keys {
            let (old, new) = (Settings(), settings(changing: key))
            let change = SettingsChange(from: old, to: new)
            // Each change is named once, whichever way it goes, and what is not live stays as it was.
            #expect(change.taken + change.needsRestart == [key.title], "\(key.title)")
            #expect(SettingsChange(from: new, to: old) == change)
            #expect(old.taking(liveFrom: new) == (change.taken.isEmpty ? old : new), "\(key.title)")
            live.formUnion(change.taken)
        }
        return live
    }

    @Test(
        "A running lock takes what moves no file, no link and no bolt; each other key is named as waiting for a restart"
    )
    func keys() {
        let log: Set = ["[log] level", "[log] json"]
        #expect(Self.live(CentralSettings.self) == log)
        #expect(
            Self.live(PeripheralSettings.self)
                == log.union([
                    "[lock] relock_seconds", "[lock] lock_and_go_seconds", "[lock] challenge_life_ms", "[lock] signed",
                    "[lock] time_zone", "[lock] holidays", "[door] ajar_seconds", "[door] lock_when_closed",
                    "[door] exit",
                    "[door] passage", "[alarms] hook", "[metrics] file", "[metrics] interval_seconds",
                ]))
    }

    @Test("Nothing changes by a file that says what it said")
    func same() {
        let change = SettingsChange(from: PeripheralSettings(), to: PeripheralSettings())
        #expect(change.taken.isEmpty && change.needsRestart.isEmpty)
    }
}
