import BluetoothHost

/// A lock's store for the simulator and for tests: what is committed survives `losePending()`, which is a kill.
package final class MemoryLockStore: LockStore {
    package private(set) var committed: LockSnapshot
    package private(set) var audit: [AuditRecord] = []
    private var pending: [LockMutation] = []

    package init(_ snapshot: LockSnapshot = LockSnapshot()) { committed = snapshot }

    package func load() throws -> LockSnapshot { committed }
    package func append(_ mutation: LockMutation) { pending.append(mutation) }

    package func auditRecords(after sequence: UInt64, limit: Int) throws -> [AuditRecord] {
        Array(audit.lazy.filter { $0.sequence > sequence }.prefix(limit))
    }

    package var hasPending: Bool { !pending.isEmpty }
    package func writePending() throws {}

    package func didCommit() {
        for mutation in pending {
            committed.apply(mutation)
            if case .audit(let record) = mutation { audit.append(record) }
        }
        pending.removeAll(keepingCapacity: true)
    }

    package func losePending() { pending.removeAll() }
}
