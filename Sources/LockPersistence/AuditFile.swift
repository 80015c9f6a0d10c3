import BluetoothCrypto
import LockPeripheral
import LockProtocol
import StatePersistence

/// The audit in a lock's database, read without the machine key, whether or not the daemon runs.
///
/// Read in slices, each as the file is at its moment: whoever reads a million records holds neither them nor the file.
package struct AuditFile {
    /// Records of a slice.
    package static let sliceRecords = 4_096

    private let path: String

    /// - Throws: A ``StoreError``: the file cannot be read, or holds no audit that this version knows.
    package init(path: String) throws(StoreError) {
        self.path = path
        let isThere = try look { (reader) throws(StoreError) in
            try reader.database.statement(
                "SELECT 1 FROM pragma_table_info('lock_state') WHERE name = 'audit_signature'"
            )
            .firstRow { (_) throws(StoreError) in true }
        }
        guard isThere == true else {
            throw .unreadable(
                path: path,
                reason:
                    "there is no lock's audit of this version in it: name a lock's database, or start its daemon once")
        }
    }

    private func view() throws(StoreError) -> StateView { try StateView(path: path) }

    /// Statements live as long as their view does.
    private func look<T>(_ body: (LockReader) throws(StoreError) -> T) throws(StoreError) -> T {
        let view = try view()
        defer { withExtendedLifetime(view) {} }
        return try body(LockReader(database: view))
    }

    /// `progress` hears behind each slice how far it has come.
    package func verification(
        under known: Ed25519PublicKey?, progress: (AuditProgress) -> Void = { _ in }
    ) throws(StoreError) -> AuditVerification {
        try AuditVerification(publicKey: known, progress: progress) { () throws(StoreError) in try view() }
    }

    /// One slice of the audit, in the order of its chain.
    package struct Slice {
        package let rows: [AuditRow]
        /// What was forgotten before the records and between them; in the last slice, behind them as well. The first one may begin
        /// before the slice, where the lock has forgotten meanwhile what an earlier one had.
        package let cuts: [AuditCutRow]
        /// The signed end, and the key that it names; nil where nothing is signed.
        package let end: SignedAuditEnd?
        /// There are no records behind these.
        package let isLast: Bool
        fileprivate let through: UInt64

        package var progress: AuditProgress { AuditProgress(at: through, of: end?.checkpoint.head.sequence ?? through) }
    }

    /// The slice behind another one; nil: the first.
    package func slice(behind last: Slice?) throws(StoreError) -> Slice {
        try look { (reader) throws(StoreError) in
            let place = last?.through ?? 0
            let rows = try reader.auditRows(after: place, limit: Self.sliceRecords)
            let isLast = rows.count < Self.sliceRecords
            let through = rows.last?.sequence ?? place
            let cuts = try reader.auditCutRows(after: place, through: isLast ? .max : through)
            return Slice(
                rows: rows, cuts: cuts, end: try reader.auditEnd(), isLast: isLast,
                through: max(through, isLast ? cuts.last?.last ?? 0 : 0))
        }
    }

    /// The `limit` records before this one, the newest first; nil: before the end.
    package func rows(before sequence: UInt64?, limit: Int) throws(StoreError) -> [AuditRow] {
        try look { (reader) throws(StoreError) in
            try reader.auditRows(before: sequence ?? UInt64(Int64.max), limit: limit)
        }
    }

    /// The names of the credentials that there are now. A damaged one has none.
    package func names() throws(StoreError) -> [CredentialID: String] {
        var names: [CredentialID: String] = [:]
        try look { (reader) throws(StoreError) in
            try reader.database.statement("SELECT id, name FROM lock_credential").forEachRow {
                (row) throws(StoreError) in
                guard let id: UInt64 = try? row.integer(0), let name = try? row.text(1) else { return }
                names[CredentialID(rawValue: id)] = name
            }
        }
        return names
    }

    /// Every event that gives a credential its name, in order.
    package func forEachNaming(
        progress: (AuditProgress) -> Void, _ body: (CredentialID, String) -> Void
    ) throws(StoreError) {
        var place: UInt64 = 0
        var isLast = false
        while !isLast {
            let (through, end) = try look { (reader) throws(StoreError) in
                let through = try reader.auditNames(after: place, limit: Self.sliceRecords * 4, body)
                return (through, try reader.auditEnd()?.checkpoint.head.sequence)
            }
            isLast = through == nil
            place = through ?? place
            progress(AuditProgress(at: place, of: end ?? place))
        }
    }
}

/// How far somebody has come who goes through an audit: at which record, of the last one.
package struct AuditProgress: Hashable, Sendable {
    package let record: UInt64
    package let last: UInt64

    init(at record: UInt64, of last: UInt64) {
        self.record = min(record, last)
        self.last = last
    }
}
