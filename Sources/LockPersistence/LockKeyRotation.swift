import BluetoothCrypto
import LockPeripheral
import StatePersistence

/// The lock's part of a ``KeyRotation``: the set's MACs and its seal, and what the audit's key has signed.
struct LockKeyRotation {
    let rotation: KeyRotation

    private var database: Database { rotation.database }

    /// In the same transaction. Gives the name of the state that it makes.
    ///
    /// A MAC that is wrong stays as it is: it costs its row under the new key as under the old one, and the set's sums have it.
    func perform(behind generation: UInt64) throws(StoreError) -> StateName {
        try authenticate(
            .settings,
            """
            SELECT only, relock_seconds, lock_and_go_seconds, challenge_life_milliseconds, accepts_signed, schedules,
                mode, mac
            FROM lock_settings WHERE only > ? LIMIT ?
            """, "UPDATE lock_settings SET mac = ? WHERE only = ?")
        try authenticate(
            .credential,
            """
            SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, schedules,
                user, kind, mac
            FROM lock_credential WHERE id > ? ORDER BY id LIMIT ?
            """, "UPDATE lock_credential SET mac = ? WHERE id = ?")
        try signAudit()
        let sums = try SealedRows(database: database, keys: rotation.new).sums()
        let next = generation + 1
        let seal = rotation.new.wrap(sums.octets, table: "lock_seal", column: "seal", row: "\(next)")
        try database.statement("INSERT OR REPLACE INTO lock_seal VALUES (1, ?, ?)").run([SQLValue(next), .blob(seal)])
        return LockSeal.name(next, seal)
    }

    private func authenticate(
        _ columns: SealedColumns, _ select: StaticString, _ update: StaticString
    ) throws(StoreError) {
        var last = Int64.min
        var count = 0
        repeat {
            count = 0
            var found: [(Int64, [UInt8])] = []
            try database.statement(select).forEachRow([.integer(last), SQLValue(KeyRotation.sliceRows)]) {
                (row) throws(StoreError) in
                count += 1
                last = try row.integer(0)
                guard (try? columns.isAuthentic(row, rotation.old.rows)) == true,
                    let mac = try? columns.mac(of: row, rotation.new.rows)
                else { return }
                found.append((last, mac))
            }
            for (number, mac) in found { try database.statement(update).run([.blob(mac), .integer(number)]) }
        } while count == KeyRotation.sliceRows
    }

    // MARK: The audit

    /// What is not signed by the old key is not signed by the new one, and neither is what cannot be read, or changed any more.
    private func signAudit() throws(StoreError) {
        let (old, new) = (AuditSigner(rotation.old), AuditSigner(rotation.new))
        let end = try LockReader(database: database).auditCheckpoint()
        if let checkpoint = end?.checkpoint, checkpoint.isSigned(by: old.publicKey) {
            _ = try database.statement("UPDATE lock_state SET audit_signature = ?, audit_key = ?").runIfFitting([
                .blob(new.checkpoint(checkpoint.head).signature), .blob(new.publicKey.octets),
            ])
        }
        var last = UInt64(0)
        while true {
            let rows = try LockReader(database: database).auditCutRows(after: last, limit: KeyRotation.sliceRows)
            guard let end = rows.last else { return }
            let cuts = rows.compactMap(\.cut)
            for (cut, isSigned) in zip(cuts, AuditCut.areSigned(cuts, by: old.publicKey)) where isSigned {
                try database.statement("UPDATE lock_audit_cut SET signature = ? WHERE last = ?").run([
                    SQLValue(new.signed(cut).signature), SQLValue(cut.last),
                ])
            }
            last = end.last
        }
    }
}
