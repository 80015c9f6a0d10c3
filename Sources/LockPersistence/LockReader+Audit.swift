import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol
import StatePersistence

/// Reads the audit: records, cuts and the signed end.
extension LockReader {
    func auditRecords(after sequence: UInt64, limit: Int) throws(StoreError) -> [AuditRecord] {
        var records: [AuditRecord] = []
        try forEachRecord(Self.recordsAfter, sequence, limit) { (row) throws(StoreError) in
            let number: UInt64 = try row.integer(0)
            let record = try whole("lock_audit", "\(number)") { () throws(StoreError) in try Self.auditRecord(row) }
            if let record { records.append(record) }
        }
        return records
    }

    func auditRows(after sequence: UInt64, limit: Int) throws(StoreError) -> [AuditRow] {
        try auditRows(Self.recordsAfter, sequence, limit)
    }

    /// The newest first.
    func auditRows(before sequence: UInt64, limit: Int) throws(StoreError) -> [AuditRow] {
        try auditRows(
            """
            SELECT sequence, boot, at, wall_clock_seconds, event, hash, holder, is_protected FROM lock_audit
            WHERE sequence < ? ORDER BY sequence DESC LIMIT ?
            """, sequence, limit)
    }

    private static let recordsAfter: StaticString = """
        SELECT sequence, boot, at, wall_clock_seconds, event, hash, holder, is_protected FROM lock_audit
        WHERE sequence > ? ORDER BY sequence LIMIT ?
        """

    private func auditRows(_ sql: StaticString, _ place: UInt64, _ limit: Int) throws(StoreError) -> [AuditRow] {
        var rows: [AuditRow] = []
        try forEachRecord(sql, place, limit) { (row) throws(StoreError) in
            if let record = try? Self.auditRecord(row) { return rows.append(.record(record)) }
            var rest = AuditRemains(sequence: try row.integer(0))
            rest.boot = row.optionalUInt128(1).map { BootID(bits: $0) }
            rest.at = (try? row.integer(2)).map { Instant(nanoseconds: $0) }
            rest.wallClockSeconds = (try? row.optionalInteger(3)) ?? nil
            rest.event = try? row.blob(4)
            rest.hash = try? row.blob(5)
            rows.append(.unreadable(rest))
        }
        return rows
    }

    private func forEachRecord(
        _ sql: StaticString, _ place: UInt64, _ limit: Int, _ body: (Row) throws(StoreError) -> Void
    ) throws(StoreError) {
        try database.statement(sql).forEachRow(
            [SQLValue(min(place, UInt64(Int64.max))), SQLValue(max(0, limit))], body)
    }

    private static func auditRecord(_ row: Row) throws(StoreError) -> AuditRecord {
        guard let event = try? AuditEvent(exactly: try row.blob(4)) else { throw row.misfit(4) }
        return AuditRecord(
            sequence: try row.integer(0), boot: BootID(bits: try row.uint128(1)),
            at: Instant(nanoseconds: try row.integer(2)), wallClockSeconds: try row.optionalInteger(3),
            event: event, hash: try row.blob(5), holder: auditHolder(row, isProtected: 7, credential: 6))
    }

    /// The names that events among the next `limit` records give credentials; the last one's sequence, nil where there are not so many.
    /// Found by the first octets of the events that have a ``AuditEvent/naming``, so that nobody decodes the others.
    func auditNames(
        after sequence: UInt64, limit: Int, _ body: (CredentialID, String) -> Void
    ) throws(StoreError) -> UInt64? {
        let range = [SQLValue(min(sequence, UInt64(Int64.max))), SQLValue(limit)]
        try database.statement(
            """
            SELECT event FROM (SELECT sequence, event FROM lock_audit WHERE sequence > ? ORDER BY sequence LIMIT ?)
            WHERE substr(event, 1, 1) IN (x'09', x'16', x'18', x'1B', x'1D', x'1E') ORDER BY sequence
            """
        ).forEachRow(range) { (row) throws(StoreError) in
            guard let event = try? AuditEvent(exactly: try row.blob(0)), let (credential, name) = event.naming else {
                return
            }
            body(credential, name)
        }
        return try database.statement(
            "SELECT sequence FROM lock_audit WHERE sequence > ? ORDER BY sequence LIMIT 1 OFFSET ?"
        ).firstRow([range[0], SQLValue(limit - 1)]) { (row) throws(StoreError) in try row.integer(0) }
    }

    /// Of a row of the audit. It proves nothing: where it is damaged the record is nobody's.
    static func auditHolder(_ row: Row, isProtected: Int32, credential: Int32) -> AuditHolder {
        let number: UInt64 = (try? row.integer(credential)) ?? 0
        return AuditHolder(
            credential: number == 0 ? nil : CredentialID(rawValue: number),
            isProtected: (try? row.bool(isProtected)) ?? false)
    }

    func auditCuts(after sequence: UInt64, limit: Int) throws(StoreError) -> [AuditCut] {
        var cuts: [AuditCut] = []
        try forEachCut(after: sequence, through: .max, limit) { (row) throws(StoreError) in
            let last: UInt64 = try row.integer(1)
            let cut = try whole("lock_audit_cut", "\(last)") { () throws(StoreError) in try Self.auditCut(row) }
            if let cut { cuts.append(cut) }
        }
        return cuts
    }

    /// The same, of which a damaged one costs itself. `end`: of cuts that end no later.
    func auditCutRows(
        after sequence: UInt64, through end: UInt64 = .max, limit: Int = .max
    ) throws(StoreError) -> [AuditCutRow] {
        var rows: [AuditCutRow] = []
        try forEachCut(after: sequence, through: end, limit) { (row) throws(StoreError) in
            rows.append(AuditCutRow(last: try row.integer(1), cut: try? Self.auditCut(row)))
        }
        return rows
    }

    private func forEachCut(
        after sequence: UInt64, through end: UInt64, _ limit: Int, _ body: (Row) throws(StoreError) -> Void
    ) throws(StoreError) {
        let greatest = UInt64(Int64.max)
        try database.statement(
            """
            SELECT first, last, hash, signature FROM lock_audit_cut WHERE last > ? AND last <= ? ORDER BY last LIMIT ?
            """
        ).forEachRow([SQLValue(min(sequence, greatest)), SQLValue(min(end, greatest)), SQLValue(max(0, limit))], body)
    }

    /// first, last, hash, signature.
    static func auditCut(_ row: Row) throws(StoreError) -> AuditCut {
        AuditCut(
            first: try row.integer(0), last: try row.integer(1), hash: try row.blob(2),
            signature: try row.optionalBlob(3))
    }

    /// The checkpoint, and the key that it says it is of; nil where there is none. A damaged one has no checkpoint.
    func auditCheckpoint() throws(StoreError) -> (checkpoint: AuditCheckpoint?, publicKey: Ed25519PublicKey?)? {
        try database.statement(
            """
            SELECT audit_sequence, audit_hash, audit_signature, audit_key FROM lock_state
            WHERE coalesce(audit_sequence, audit_hash, audit_signature, audit_key) IS NOT NULL
            """
        ).firstRow([]) { (row) throws(StoreError) in
            let key = (try? row.blob(3)).flatMap { Ed25519PublicKey($0) }
            guard let sequence: UInt64 = try? row.integer(0), let hash = try? row.blob(1),
                let signature = try? row.blob(2)
            else { return (nil, key) }
            return (AuditCheckpoint(head: AuditHead(sequence: sequence, hash: hash), signature: signature), key)
        }
    }

    /// nil where there is no checkpoint, or a damaged one.
    func auditEnd() throws(StoreError) -> SignedAuditEnd? {
        guard let end = try auditCheckpoint(), let checkpoint = end.checkpoint, let key = end.publicKey else {
            return nil
        }
        return SignedAuditEnd(checkpoint: checkpoint, publicKey: key)
    }

    /// Of the first `limit` records with a sequence in this range.
    func auditCount(in sequences: ClosedRange<UInt64>, limit: Int) throws(StoreError) -> AuditCount {
        let greatest = UInt64(Int64.max)
        return try database.statement(
            """
            SELECT count(*), max(sequence) FROM (
                SELECT sequence FROM lock_audit WHERE sequence BETWEEN ? AND ? ORDER BY sequence LIMIT ?)
            """
        ).firstRow([
            SQLValue(min(sequences.lowerBound, greatest)), SQLValue(min(sequences.upperBound, greatest)),
            SQLValue(max(0, limit)),
        ]) { (row) throws(StoreError) in
            AuditCount(records: try row.integer(0), last: try row.optionalInteger(1))
        } ?? AuditCount(records: 0, last: nil)
    }
}
