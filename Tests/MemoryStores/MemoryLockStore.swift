import BluetoothHost
import LockPeripheral

/// A lock's store for tests: what is committed survives `losePending()`, which is a kill.
package final class MemoryLockStore: LockStore {
    package private(set) var committed: LockSnapshot
    /// The same with what is pending.
    private var current: LockSnapshot
    package private(set) var audit: [AuditRecord] = []
    private var horizon = AuditHead.empty
    private let auditRecordsMaximum: UInt64
    private var pending: [LockMutation] = []

    package init(
        _ snapshot: LockSnapshot = LockSnapshot(), auditRecordsMaximum: UInt64 = AuditRetention.recordsMaximum
    ) {
        committed = snapshot
        current = snapshot
        self.auditRecordsMaximum = auditRecordsMaximum
    }

    package func load() throws -> LockSnapshot { committed }
    package func append(_ mutation: LockMutation) {
        pending.append(mutation)
        current.apply(mutation)
    }

    package func launch() throws -> LockSnapshot {
        var snapshot = committed
        let bond = committed.intent?.origin.command?.bond
        snapshot.credentials = [:]
        snapshot.lastCommands = snapshot.lastCommands.filter { $0.key == bond }
        snapshot.receiptCounters = snapshot.receiptCounters.filter { $0.key == bond }
        return snapshot
    }

    package var rows: (any LockRows)? { self }

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

    package func losePending() {
        pending.removeAll()
        current = committed
    }
}

extension MemoryLockStore: LockRows {
    package func holder(of bond: UInt64) -> BondHolder {
        var holder = BondHolder(bond: bond)
        holder.credentials = sorted { $0.bond == bond }
        holder.lastCommand = current.lastCommands[bond]
        holder.receiptCounter = current.receiptCounters[bond]
        return holder
    }

    package func isNamed(_ bond: UInt64) -> Bool { current.credentials.values.contains { $0.bond == bond } }
    package func credentials(named name: String) -> [Credential] { sorted { $0.name == name } }
    package func credentialNames() -> [String] { Set(current.credentials.values.map(\.name)).sorted() }

    package func credentials(after cursor: CredentialID?, limit: Int) -> [Credential] {
        let first = cursor.map { Int64(bitPattern: $0.rawValue) } ?? .min
        return Array(sorted { first < Int64(bitPattern: $0.id.rawValue) }.prefix(limit))
    }

    private func sorted(where isIncluded: (Credential) -> Bool) -> [Credential] {
        current.credentials.values.filter(isIncluded)
            .sorted { Int64(bitPattern: $0.id.rawValue) < Int64(bitPattern: $1.id.rawValue) }
    }
}
