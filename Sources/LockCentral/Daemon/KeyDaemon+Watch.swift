import CoreBluetoothEssentials

extension KeyDaemon {
    /// Calls `watcher` whenever something of the locks may have changed, after the commit; nil ends that. While there is one the key reads how
    /// strong its links are.
    package func watch(_ watcher: (() -> Void)?) {
        self.watcher = watcher
        feed(.watched(watcher != nil))
    }

    /// In the order of their names.
    package var watchedLocks: [WatchedLock] { machine.watchedLocks }

    package var radioState: CBManagerState { manager?.state ?? .unknown }
}
