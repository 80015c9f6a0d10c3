import BluetoothCrypto
import BluetoothHost
import LockPeripheral
import LockProtocol

/// A lock's store for tests: what is committed survives `losePending()`, which is a kill.
package final class MemoryLockStore: LockStore {
    package private(set) var committed: LockSnapshot
    /// The same with what is pending.
    private var current: LockSnapshot
    package private(set) var audit: [AuditRecord] = []
    private var cuts: [AuditCut] = []
    private var shares: AuditShares
    private var pending: [LockMutation] = []
    /// nil: nothing signs.
    private let signer: Ed25519SigningKey?
    /// Nothing can be read behind this record.
    package var refusesAuditBehind: UInt64?
    /// Records whose rows are damaged.
    package var damagedAudit: Set<UInt64> = []
    /// Since it was made.
    package private(set) var auditRecordsRead = 0

    private struct Unreadable: Error {}

    package init(
        _ snapshot: LockSnapshot = LockSnapshot(), auditRecordsMaximum: UInt64 = AuditRetention.recordsMaximum,
        signer: Ed25519SigningKey? = nil
    ) {
        self.signer = signer
        committed = snapshot
        current = snapshot
        shares = AuditShares(maximum: auditRecordsMaximum)
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
        snapshot.lockouts = snapshot.lockouts.filter { $0.key == bond }
        return snapshot
    }

    package var rows: (any LockRows)? { self }

    package func auditRecords(after sequence: UInt64, limit: Int) throws -> [AuditRecord] {
        if let last = refusesAuditBehind, sequence >= last { throw Unreadable() }
        let page = Array(audit.lazy.filter { $0.sequence > sequence }.prefix(limit))
        auditRecordsRead += page.count
        return page.filter { !damagedAudit.contains($0.sequence) }
    }

    package func auditCuts(after sequence: UInt64, limit: Int) throws -> [AuditCut] {
        Array(cuts.lazy.filter { $0.last > sequence }.prefix(limit))
    }

    package func auditCount(in sequences: ClosedRange<UInt64>, limit: Int) throws -> AuditCount {
        let records = audit.lazy.filter { sequences.contains($0.sequence) }.prefix(limit)
        return AuditCount(records: records.count, last: Array(records).last?.sequence)
    }

    package func auditEnd() throws -> SignedAuditEnd? {
        signer.map { key in
            let head = committed.auditHead
            return SignedAuditEnd(
                checkpoint: AuditCheckpoint(head: head, signature: key.sign(AuditCheckpoint.message(head))),
                publicKey: key.publicKey)
        }
    }

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
        if let victim = shares.victim, let index = audit.firstIndex(where: { $0.holder == victim }) {
            cut(audit.remove(at: index))
            shares.remove(victim)
        }
        audit.append(record)
        shares.add(record.holder)
    }

    private func cut(_ record: AuditRecord) {
        let (before, behind) = (
            cuts.first { $0.last + 1 == record.sequence }, cuts.first { $0.first == record.sequence + 1 }
        )
        cuts.removeAll { $0 == before || $0 == behind }
        let (first, last) = (before?.first ?? record.sequence, behind?.last ?? record.sequence)
        let hash = behind?.hash ?? record.hash
        cuts.append(
            AuditCut(
                first: first, last: last, hash: hash, signature: signer?.sign(AuditCut.message(first, last, hash))))
        cuts.sort { $0.last < $1.last }
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
        holder.otherDevices = otherDevices(of: holder)
        holder.lastCommand = current.lastCommands[bond]
        holder.receiptCounter = current.receiptCounters[bond]
        holder.lockout = current.lockouts[bond]
        return holder
    }

    package func isNamed(_ bond: UInt64) -> Bool { current.credentials.values.contains { $0.bond == bond } }
    package func credentials(named name: String) -> [Credential] { sorted { $0.name == name } }
    package func credentials(ofUser user: String) -> [Credential] { sorted { $0.userName == user } }
    package func users(after last: String?, limit: Int) -> [String] {
        Set(current.credentials.values.map(\.userName)).page(after: last, limit: limit)
    }

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
