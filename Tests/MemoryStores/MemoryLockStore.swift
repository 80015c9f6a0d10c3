import BluetoothHost
import LockPeripheral

/// A lock's store for tests: what is committed survives `losePending()`, which is a kill.
package final class MemoryLockStore: LockStore {
    package private(set) var committed: LockSnapshot
    package private(set) var audit: [AuditRecord] = []
    private var horizon = AuditHead.empty
    private let auditRecordsMaximum: UInt64
    private var pending: [LockMutation] = []

    package init(
        _ snapshot: LockSnapshot = LockSnapshot(), auditRecordsMaximum: UInt64 = AuditRetention.recordsMaximum
    ) {
        committed = snapshot
        self.auditRecordsMaximum = auditRecordsMaximum
    }

    package func load() throws -> LockSnapshot { committed }
    package func append(_ mutation: LockMutation) { pending.append(mutation) }

    package func auditRecords(after sequence: UInt64, limit: Int) throws -> [AuditRecord] {
        Array(audit.lazy.filter { $0.sequence > sequence }.prefix(limit))
    }

    package func auditHorizon() throws -> AuditHead { horizon }

    package var hasPending: Bool { !pending.isEmpty }
    package func writePending() throws {}

    package func didCommit() {
        for mutation in pending {
            committed.apply(mutation)
            if case .audit(let record) = mutation { keep(record) }
        }
        pending.removeAll(keepingCapacity: true)
    }

    private func keep(_ record: AuditRecord) {
        audit.append(record)
        guard audit.count > Int(auditRecordsMaximum) else { return }
        horizon = AuditHead(audit.removeFirst())
    }

    package func losePending() { pending.removeAll() }
}
