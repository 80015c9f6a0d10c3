import LockProtocol

/// What the lock's configuration says of its settings: nobody changes over the air what stands there.
package struct ConfiguredLockSettings: Hashable, Sendable {
    package var settings: LockSettings
    /// Those of ``settings`` that stand there.
    package var fixed: LockSettings.Fields

    package init(_ settings: LockSettings, fixed: LockSettings.Fields) {
        self.settings = settings
        self.fixed = fixed
    }

    /// What the lock goes by: the configuration over what is kept.
    package func over(_ kept: LockSettings) -> LockSettings { kept.taking(fixed, from: settings) }
}
