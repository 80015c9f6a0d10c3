import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import LockCentral

/// Tells those who watch a key of each lock that changes: all of them once, and then one event for each change, behind the commit. Nothing is
/// kept for a reader who is slow: the control socket drops it (``ControlServer/maximumUnreadOctets``).
final class WatchFeed {
    private let key: KeyDaemon
    private let host: Host
    private var watchers: [ObjectIdentifier: ControlExchange] = [:]
    /// As it was told last.
    private var told: [PeerIdentifier: WatchedLock] = [:]
    private var toldRadio: CBManagerState?

    init(_ key: KeyDaemon, host: Host) { (self.key, self.host) = (key, host) }

    func stream(to exchange: ControlExchange) {
        let id = ObjectIdentifier(exchange)
        watchers[id] = exchange
        // The next turn of the key finds that nobody watches.
        exchange.onAbandoned = { [weak self] in self?.watchers[id] = nil }
        if watchers.count == 1 {
            key.watch { [weak self] in self?.changed() }
            told = Dictionary(key.watchedLocks.map { ($0.record.peer, $0) }) { first, _ in first }
            toldRadio = key.radioState
        }
        exchange.event("watching", ["radio": .string(key.radioState.name), "locks": JSONValue(told.count)])
        for lock in told.values.sorted(by: { $0.order < $1.order }) {
            exchange.event("lock", lock.json(now: host.now))
        }
    }

    private func changed() {
        guard !watchers.isEmpty else {
            (told, toldRadio) = ([:], nil)
            return key.watch(nil)
        }
        if toldRadio != key.radioState {
            toldRadio = key.radioState
            tell("radio", ["radio": .string(key.radioState.name)])
        }
        let locks = key.watchedLocks
        for lock in locks where told[lock.record.peer] != lock {
            told[lock.record.peer] = lock
            tell("lock", lock.json(now: host.now))
        }
        guard told.count > locks.count else { return }
        for peer in Set(told.keys).subtracting(locks.map(\.record.peer)).sorted(by: { $0.bits < $1.bits }) {
            told[peer] = nil
            tell("gone", ["id": .string("\(peer)")])
        }
    }

    private func tell(_ event: String, _ fields: JSONObject) {
        for watcher in watchers.values { watcher.event(event, fields) }
    }
}
