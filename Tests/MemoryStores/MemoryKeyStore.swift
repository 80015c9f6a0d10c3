import BluetoothHost
import LockCentral

/// A key's store for tests: what is committed survives `losePending()`, which is a kill.
package final class MemoryKeyStore: KeyStore {
    package private(set) var committed: KeySnapshot
    private var pending: [KeyMutation] = []

    package init(_ snapshot: KeySnapshot = KeySnapshot()) { committed = snapshot }

    package func load() throws -> KeySnapshot { committed }
    package func append(_ mutation: KeyMutation) { pending.append(mutation) }

    package var hasPending: Bool { !pending.isEmpty }
    package func writePending() throws {}

    package func didCommit() {
        for mutation in pending { committed.apply(mutation) }
        pending.removeAll(keepingCapacity: true)
    }

    package func losePending() { pending.removeAll() }
}
