import BluetoothCrypto
import LockPeripheral
import LockProtocol
import StatePersistence

/// The audit in a lock's database, read without the machine key, whether or not the daemon runs.
package struct AuditFile {
    private let file: StateInspector

    /// - Throws: A ``StoreError``: the file cannot be read, or holds no audit that this version knows.
    package init(path: String) throws(StoreError) {
        file = try StateInspector(path: path)
        let isThere = try file.statement(
            "SELECT 1 FROM pragma_table_info('lock_state') WHERE name = 'audit_signature'"
        ).firstRow { (_) throws(StoreError) in true }
        guard isThere == true else {
            throw .unreadable(
                path: path,
                reason:
                    "there is no lock's audit of this version in it: name a lock's database, or start its daemon once")
        }
    }

    package func verification(under known: Ed25519PublicKey?) throws(StoreError) -> AuditVerification {
        try AuditVerification(of: file, publicKey: known)
    }

    /// Records with a greater sequence than `sequence`, in order, at most `limit`.
    package func records(after sequence: UInt64, limit: Int) throws(StoreError) -> [AuditRecord] {
        try LockReader(database: file).auditRecords(after: sequence, limit: limit)
    }

    /// All, in order.
    package func cuts() throws(StoreError) -> [AuditCut] {
        try LockReader(database: file).auditCuts(after: 0, limit: .max)
    }

    /// The signed end, and the key that it names; nil where nothing is signed.
    package func end() throws(StoreError) -> SignedAuditEnd? { try LockReader(database: file).auditEnd() }

    /// The names of the credentials that there are now. A damaged one has none.
    package func names() throws(StoreError) -> [CredentialID: String] {
        var names: [CredentialID: String] = [:]
        try file.statement("SELECT id, name FROM lock_credential").forEachRow { (row) throws(StoreError) in
            guard let id: UInt64 = try? row.integer(0), let name = try? row.text(1) else { return }
            names[CredentialID(rawValue: id)] = name
        }
        return names
    }
}
