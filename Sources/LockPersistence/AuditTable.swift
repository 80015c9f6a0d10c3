import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import LockProtocol
import StatePersistence

/// The audit's records and cuts, in the tables `lock_audit` and `lock_audit_cut`: adds to them, and makes room by ``AuditShares``.
///
/// Who has how many records is counted from the index, where a record might be one too many: a slice with each record, and larger ones
/// while the loop has nothing else to do, so that neither a launch nor a command waits for all. Until it is known nothing is forgotten.
/// Then a quiet lock has room for some records more, so that a command has nothing to forget.
struct AuditTable {
    private let database: Database
    private let maximum: UInt64
    /// Records that there is to be room for, before they come.
    private let roomAhead: UInt64
    /// The last record's, as far as this process knows.
    private var last: UInt64 = 0
    /// Nothing has been written since somebody else held the file.
    private var isHeld = false
    /// nil where nothing signs.
    private let signer: AuditSigner?
    /// Of the records that this commit has written, the last.
    private var unsigned: AuditHead?
    private var count = Count.unknown
    private var isUncommitted = false
    /// Found at the launch: SQLite changes no row that has a value of a wrong type, and the signed end is in a row with the bolt's.
    private var isEndDamaged = false

    private enum Count {
        case unknown
        /// Behind `after`, in the index's order, nothing is counted yet of the records up to `through`.
        case underWay(AuditShares, after: [SQLValue], through: Int64)
        case known(AuditShares)
    }

    /// Index entries that one record's commit counts: one page or two.
    private static let commitEntries = 256
    /// The same of a slice in a quiet moment: some six pages, half a millisecond.
    private static let quietEntries = 1_024

    init(_ database: Database, maximum: UInt64, signer: AuditSigner?) {
        self.database = database
        self.maximum = maximum
        self.signer = signer
        // Of a small audit no part that counts.
        roomAhead = min(AuditRetention.roomAheadRecords, maximum / 16)
    }

    /// A commit begins. What an earlier one counted that failed is counted again.
    mutating func begin() {
        if isUncommitted { count = .unknown }
        isUncommitted = true
        unsigned = nil
    }

    /// A commit's records are all there.
    func sign() throws(StoreError) {
        guard let signer, let unsigned else { return }
        let checkpoint = signer.checkpoint(unsigned)
        try writeEnd(
            SQLValue(checkpoint.head.sequence), .blob(checkpoint.head.hash), .blob(checkpoint.signature),
            .blob(signer.publicKey.octets))
    }

    private func writeEnd(
        _ sequence: SQLValue, _ hash: SQLValue, _ signature: SQLValue, _ publicKey: SQLValue
    ) throws(StoreError) {
        try database.statement(
            "UPDATE lock_state SET audit_sequence = ?, audit_hash = ?, audit_signature = ?, audit_key = ?"
        ).run([sequence, hash, signature, publicKey])
    }

    /// What is wrong with the audit's end; nil where nothing is, or nothing signs here.
    mutating func doubt(about head: AuditHead) throws(StoreError) -> AuditDoubt? {
        last = head.sequence
        let end = try LockReader(database: database).auditCheckpoint()
        isEndDamaged = end.map { $0.checkpoint == nil || $0.publicKey == nil } ?? false
        guard let signer else { return nil }
        guard let checkpoint = end else {
            return head.sequence == 0 ? nil : .unsigned
        }
        guard let signed = checkpoint.checkpoint, signed.isSigned(by: signer.publicKey) else {
            return .signatureDamaged
        }
        if signed.head == head { return nil }
        if signed.head.sequence == head.sequence { return .altered }
        return signed.head.sequence > head.sequence ? .shortened : .lengthened
    }

    /// A damaged end keeps no fact of the bolt from being written.
    func mendEnd() throws(StoreError) {
        if isEndDamaged { try writeEnd(.null, .null, .null, .null) }
    }

    mutating func settle() {
        isUncommitted = false
        isEndDamaged = false
    }

    /// Never in place of another record: a sequence that is there already is an error, and nothing is committed.
    mutating func write(_ record: AuditRecord) throws(StoreError) {
        last = record.sequence &- 1
        if record.sequence > maximum { try makeRoom() }
        try database.statement("INSERT INTO lock_audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)").run([
            SQLValue(record.sequence), SQLValue(record.boot.bits), SQLValue(record.at.nanoseconds),
            SQLValue(optional: record.wallClockSeconds), .blob(record.event.encoded), .blob(record.hash),
            SQLValue(record.holder.row), SQLValue(record.holder.isProtected),
        ])
        unsigned = AuditHead(record)
        last = record.sequence
        isHeld = false
        switch count {
        case .unknown: break
        // Behind `through`, so that no slice counts it.
        case .underWay(var shares, let after, let through):
            count = .unknown
            shares.add(record.holder)
            count = .underWay(shares, after: after, through: through)
        case .known(var shares):
            count = .unknown
            shares.add(record.holder)
            count = .known(shares)
        }
    }

    /// A file that holds much more than it should comes down step by step, so that no commit takes long.
    private mutating func makeRoom() throws(StoreError) {
        if try countOn(Self.commitEntries) {
            try forget(AuditRetention.forgottenAtOnceMaximum, leaving: 1)
        }
    }

    /// So many at the most, until there is room for so many more.
    private mutating func forget(_ most: UInt64, leaving room: UInt64) throws(StoreError) {
        guard case .known(var shares) = count else { return }
        // The only owner from here on: a copy of these would cost what they spare.
        count = .unknown
        for _ in 0..<most {
            guard let victim = shares.victim(leaving: room) else { break }
            try forgetOldest(of: victim)
            shares.remove(victim)
        }
        count = .known(shares)
    }

    // MARK: Quiet moments

    /// Counts one slice; false once nothing is left to count, or while there are not so many records that it would matter.
    mutating func countAhead() throws(StoreError) -> Bool {
        if case .known = count { return false }
        guard last + roomAhead > maximum else { return false }
        return try !countOn(Self.quietEntries)
    }

    /// Whether ``makeRoomAhead()`` has something to do.
    var isRoomDue: Bool {
        guard !isHeld, case .known(let shares) = count else { return false }
        // Several in one transaction: each is a flush.
        return shares.total + roomAhead >= maximum + min(AuditRetention.forgottenAheadRecords, roomAhead)
            && shares.victim(leaving: roomAhead) != nil
    }

    /// Forgets some records, in a transaction of its own, so that the next ones find room. Waits for nobody who holds the file.
    ///
    /// - Throws: What the disk says; then the next commit throws it.
    mutating func makeRoomAhead() throws {
        begin()
        var isBegun = false
        do {
            try database.transaction(waiting: 0) {
                isBegun = true
                try forget(AuditRetention.forgottenAheadRecords, leaving: roomAhead)
            }
            isUncommitted = false
        } catch StoreError.busy {
            isHeld = true
            isUncommitted = isBegun
        }
    }

    // MARK: Counting

    /// One slice more, of so many entries; whether all are counted.
    private mutating func countOn(_ most: Int) throws(StoreError) -> Bool {
        var shares = AuditShares(maximum: maximum)
        var after: [SQLValue] = [.integer(-1), .integer(0), .integer(0)]
        var through = Int64(clamping: last)
        switch count {
        case .known: return true
        case .underWay(let counted, let place, let end): (shares, after, through) = (counted, place, end)
        case .unknown: break
        }
        count = .unknown
        var entries = 0
        // The holders of a slice, who are fewer than its records. In the index's order, by the rows that come out of it.
        try database.statement(
            """
            SELECT is_protected, holder, max(sequence), count(*), sum(sequence <= ?) FROM (
                SELECT is_protected, holder, sequence FROM lock_audit WHERE (is_protected, holder, sequence) > (?, ?, ?)
                ORDER BY is_protected, holder, sequence LIMIT ?)
            GROUP BY is_protected, holder ORDER BY is_protected, holder
            """
        ).forEachRow([.integer(through)] + after + [.integer(Int64(most))]) { (row) throws(StoreError) in
            shares.add(LockReader.auditHolder(row, isProtected: 0, credential: 1), try row.integer(4))
            entries += try row.integer(3)
            // Damage keeps nobody from what is behind it.
            if let place = try? row.values(0..<3) { after = place }
        }
        if entries < most {
            count = .known(shares)
            return true
        }
        count = .underWay(shares, after: after, through: through)
        return false
    }

    // MARK: Forgetting

    /// The cut first: outside of one nothing is deleted. A record whose holder is damaged may stay.
    private func forgetOldest(of holder: AuditHolder) throws(StoreError) {
        let oldest = try database.statement(
            """
            SELECT sequence, CASE WHEN typeof(hash) = 'blob' AND length(hash) = 32 THEN hash ELSE zeroblob(32) END
            FROM lock_audit WHERE is_protected = ? AND holder = ? AND sequence > 0 ORDER BY sequence LIMIT 1
            """
        ).firstRow([SQLValue(holder.isProtected), SQLValue(holder.row)]) { (row) throws(StoreError) in
            (try row.integer(0) as Int64, try row.blob(1))
        }
        guard let (sequence, hash) = oldest else { return }
        let before = try cut("SELECT first, last, hash, signature FROM lock_audit_cut WHERE last = ?", sequence - 1)
        let behind = try cut(
            "SELECT first, last, hash, signature FROM lock_audit_cut WHERE last > ? ORDER BY last LIMIT 1", sequence
        ).flatMap { $0.first == UInt64(sequence) + 1 ? $0 : nil }
        if before != nil {
            try database.statement("DELETE FROM lock_audit_cut WHERE last = ?").run([.integer(sequence - 1)])
        }
        let merged = AuditCut(
            first: before?.first ?? UInt64(sequence), last: behind?.last ?? UInt64(sequence), hash: behind?.hash ?? hash
        )
        let cut = signer?.signed(merged) ?? merged
        try database.statement("INSERT OR REPLACE INTO lock_audit_cut VALUES (?, ?, ?, ?)").run([
            SQLValue(cut.last), SQLValue(cut.first), .blob(cut.hash), SQLValue(cut.signature),
        ])
        try database.statement("DELETE FROM lock_audit WHERE sequence = ?").run([.integer(sequence)])
    }

    /// nil where none is, or a damaged one: the chain shows for good that it was broken there.
    private func cut(_ sql: StaticString, _ sequence: Int64) throws(StoreError) -> AuditCut? {
        try database.statement(sql).firstRow([.integer(sequence)]) { (row) throws(StoreError) -> AuditCut? in
            guard let cut = try? LockReader.auditCut(row), cut.first > 0, cut.first <= cut.last,
                cut.hash.count == SHA256.digestOctets
            else { return nil }
            return cut
        } ?? nil
    }
}

extension AuditHolder {
    /// As its column has it: the credential's number, 0 for nobody.
    fileprivate var row: UInt64 { credential?.rawValue ?? 0 }
}
