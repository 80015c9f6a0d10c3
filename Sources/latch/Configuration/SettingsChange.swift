import CommandInterface

/// What a configuration that is read anew changes in a daemon that runs.
struct SettingsChange: Equatable, Sendable {
    /// Keys that have taken their new value, as operators write them.
    private(set) var taken: [String] = []
    /// Keys whose new value waits for a restart.
    private(set) var needsRestart: [String] = []

    /// `old`: what the daemon goes by.
    init<Settings: ConfiguredSettings>(from old: Settings, to new: Settings) {
        for key in Settings.keys where !key.isSame(in: old, and: new) {
            if key.isLive { taken.append(key.title) } else { needsRestart.append(key.title) }
        }
    }
}

extension ConfiguredSettings {
    /// These settings, with those of `new` that a running daemon takes.
    func taking(liveFrom new: Self) -> Self {
        var settings = self
        for key in Self.keys where key.isLive { key.copy(from: new, to: &settings) }
        return settings
    }
}
