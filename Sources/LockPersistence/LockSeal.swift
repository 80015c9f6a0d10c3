import BluetoothCore
import BluetoothCrypto
import LockPeripheral
import StatePersistence

/// Makes the rows that rights rest on one whole: none of them can be taken away or put back, and no older file passes for
/// the present one.
///
/// **The set.** Each row with a MAC adds a number to a sum: its MAC, encrypted by AES under a key of its own. The sum is modulo 2^128, and is kept
/// wrapped: nobody without the machine key sees a number or a sum, so another set has the same sum by chance alone, once
/// in 2^128. It is a sum and not an exclusive or, because of two copies of one row nothing would be left there. A row that
/// is altered keeps its MAC and with it its number: it costs itself (``RowAuthenticator``).
///
/// **The generation.** The seal is the wrapped sum, with the number of the generation authenticated beside it. Its digest is the
/// state's name, and ``GenerationAnchor`` keeps that outside of the file. Every change of the set, and the first commit of
/// every launch, makes the next generation, in this order: the anchor says "present or next"; the seal is written
/// into the open transaction; commit; the anchor says "next". Nothing is acknowledged before the last of these. A kill between any two leaves a file
/// in the present state or the next one, and an anchor that admits both.
///
/// Used by the loop's thread alone. One process has the lock's identity, so nobody else writes these rows.
package final class LockSeal {
    /// One state of the set.
    private struct State {
        var name: StateName
        var sum: UInt128
    }

    private let database: Database
    private let keys: KeyWrap
    private let anchor: any GenerationAnchor
    private var current: State?
    /// In the open transaction, and on disk when it is.
    private var next: State?
    private var change: UInt128 = 0
    /// What the anchor says.
    private var remembered: AnchorRecord?
    private var isFirstCommit = true
    private var isConfirmed = false
    private var adoptsUnauthenticated = true
    private var check = Check.beginning

    private enum Check {
        /// From this credential on.
        case from(Int64, sum: UInt128)
        case done

        static let beginning = Self.from(.min, sum: 0)
    }

    /// Why nothing is granted; nil while the rows are believed.
    package private(set) var doubt: StateDoubt? {
        didSet { if let doubt, doubt != oldValue { onDoubt?(doubt) } }
    }
    /// Hears of a doubt once, also of one that was there before it was set.
    package var onDoubt: ((StateDoubt) -> Void)? {
        didSet { if let onDoubt, let doubt { onDoubt(doubt) } }
    }

    /// The anchor could not take the generation of this launch: it stays with the one before, and says so for both. Whatever
    /// changes rights fails until it can be written.
    package var onAnchorStuck: ((StoreError) -> Void)?

    /// Compares the file with what is remembered. A file that was never sealed, and of which nothing is remembered, is sealed
    /// as it is: a new one, or one of an earlier version.
    ///
    /// - Throws: A ``StoreError``: the anchor can be neither read nor written, or what the disk says.
    package init(_ state: StateStore, anchor: any GenerationAnchor) throws {
        database = state.database
        keys = state.keys
        self.anchor = anchor
        try Self.requireOwnSchema(database)
        let reading = try anchor.read()
        if case .record(let record) = reading { remembered = record }
        let found = try Self.kept(in: database)
        if let found {
            if let sum = Self.sum(of: found.seal, found.generation, keys) {
                current = State(name: Self.name(found.generation, found.seal), sum: sum)
            } else {
                doubt = .sealDamaged
            }
        }
        switch (reading, current) {
        case _ where doubt != nil: break
        case (.nothing, nil): try sealAsFound()
        case (.nothing, _?): doubt = .anchorMissing
        case (.damaged, _): doubt = .anchorDamaged
        case (.record(let record), let state):
            guard !record.admits(state?.name) else {
                if state == nil { try sealAsFound() }
                break
            }
            doubt = Self.doubt(of: state?.name, record)
        }
    }

    private static func doubt(of state: StateName?, _ record: AnchorRecord) -> StateDoubt {
        guard let state else { return .unsealed }
        return state.generation < record.generation ? .older : .other
    }

    /// The file's generation and the one that is remembered; nil where there is none.
    package var generations: (file: UInt64?, anchor: UInt64?) {
        (current?.name.generation, remembered?.generation)
    }

    /// A view in the place of a table could show the set to the check and another row to a command, and a trigger could put a
    /// row back behind the check. So whatever computes, and the tables of the set, have the text of the migrations.
    private static func requireOwnSchema(_ database: Database) throws(StoreError) {
        try database.statement(
            """
            SELECT name, replace(sql, ', mac BLOB', '') FROM sqlite_schema
            WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL%'
                OR name COLLATE NOCASE IN ('lock_credential', 'lock_settings', 'lock_seal')
            """
        ).forEachRow { (row) throws(StoreError) in
            // But for the column that a later step has added.
            let text = row.text(1)
            guard SchemaComponent.lock.migrations.contains(where: { $0.has(text) }) else {
                throw .corrupt(path: database.path, reason: "\(row.text(0)) is not as this program made it")
            }
        }
    }

    private static func kept(in database: Database) throws(StoreError) -> (generation: UInt64, seal: [UInt8])? {
        try database.statement("SELECT generation, seal FROM lock_seal WHERE only = 1")
            .firstRow { (row) throws(StoreError) in (try row.integer(0), row.blob(1)) }
    }

    private static func sum(of seal: [UInt8], _ generation: UInt64, _ keys: KeyWrap) -> UInt128? {
        guard let octets = try? keys.unwrap(seal, table: "lock_seal", column: "seal", row: "\(generation)"),
            octets.count == 16
        else { return nil }
        return octets.reduce(0) { $0 << 8 | UInt128($1) }
    }

    private static func name(_ generation: UInt64, _ seal: [UInt8]) -> StateName {
        StateName(generation: generation, digest: Array(SHA256.digest(seal).prefix(StateName.digestOctets)))
    }

    // MARK: Rows

    func mac(_ table: StaticString, _ values: [SQLValue]) -> [UInt8] { keys.rows.mac(table, values) }

    /// The columns of a row that its MAC is over come first, and then the MAC.
    ///
    /// - Throws: ``StoreError/rowAltered(path:table:row:)``.
    func requireAuthentic(_ row: Row, _ table: StaticString, columns: Int32, number: Int64) throws(StoreError) {
        guard try keys.rows.isAuthentic(row, table, columns: 0..<columns, mac: columns) else {
            throw .rowAltered(path: database.path, table: table.description, row: "\(number)")
        }
    }

    /// Whether the whole set is what the seal says. What has not been looked at yet is looked at now.
    package var isTrusted: Bool {
        while checkSlice() {}
        guard doubt == nil, case .done = check else { return false }
        return true
    }

    /// Rows that one slice of the check reads.
    package static let checkSliceRows = 256

    /// Looks at one slice of the set; false once there are no more. For moments when the loop has nothing else to do.
    package func checkSlice() -> Bool {
        guard doubt == nil, case .from(let first, let sum) = check else { return false }
        let read = database.reading(nil as Slice?) { () throws(StoreError) in try slice(from: first) }
        // The next commit says why.
        guard let read else { return false }
        if let next = read.next {
            check = .from(next, sum: sum &+ read.sum)
            return true
        }
        check = .done
        if let sealed = current?.sum, sealed != sum &+ read.sum, !mend(lacking: sealed &- sum &- read.sum) {
            doubt = .rowsDiffer
        }
        return false
    }

    /// Settings that are damaged are written anew by the launch. Whether their MAC is all that is damaged has to be known
    /// before: the sum has the right one.
    func settleSettings() throws(StoreError) {
        let isWhole = try database.statement(Self.settings).firstRow { (row) throws(StoreError) in
            (try? keys.rows.isAuthentic(row, "lock_settings", columns: 0..<5, mac: 5)) ?? false
        }
        if isWhole == false { _ = isTrusted }
    }

    private static let settings: StaticString = """
        SELECT only, relock_seconds, lock_and_go_seconds, challenge_life_milliseconds, accepts_signed, mac
        FROM lock_settings
        """

    /// Where one row's MAC is damaged and nothing else, the seal proves what the row says: with the MAC that belongs to its
    /// columns the sum is right. It gets that MAC again. (With the damaged one in the sum, a row that somebody has kept
    /// might have been meant.)
    private func mend(lacking difference: UInt128) -> Bool {
        database.reading(false) { () throws(StoreError) in
            let isMended = try mend(
                "lock_settings", Self.settings, columns: 5, "UPDATE lock_settings SET mac = ? WHERE only = ?",
                difference)
            if isMended { return true }
            return try mend(
                "lock_credential",
                """
                SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, mac
                FROM lock_credential
                """, columns: 7, "UPDATE lock_credential SET mac = ? WHERE id = ?", difference)
        }
    }

    private func mend(
        _ table: StaticString, _ select: StaticString, columns: Int32, _ update: StaticString, _ difference: UInt128
    ) throws(StoreError) -> Bool {
        var found: (row: Int64, mac: [UInt8])?
        try database.statement(select).forEachRow { (row) throws(StoreError) in
            guard found == nil, let values = try? row.values(0..<columns) else { return }
            let right = mac(table, values)
            let stored = keys.rows.contribution(of: row.optionalBlob(columns))
            if keys.rows.contribution(of: right) &- stored == difference { found = (try row.integer(0), right) }
        }
        guard let found else { return false }
        let isWritten: Void? = try? database.transaction {
            try database.statement(update).run([.blob(found.mac), .integer(found.row)])
        }
        return isWritten != nil
    }

    /// What some rows add, and where the next ones begin.
    private struct Slice {
        var sum: UInt128 = 0
        var next: Int64?
    }

    /// The settings are with the first slice.
    private func slice(from first: Int64) throws(StoreError) -> Slice {
        var slice = Slice()
        if first == .min {
            try database.statement("SELECT mac FROM lock_settings")
                .forEachRow { (row) throws(StoreError) in slice.sum &+= keys.rows.contribution(of: row.optionalBlob(0))
                }
        }
        var (count, last) = (0, first)
        try database.statement("SELECT id, mac FROM lock_credential WHERE id >= ? ORDER BY id LIMIT ?")
            .forEachRow([.integer(first), SQLValue(Self.checkSliceRows)]) { (row) throws(StoreError) in
                slice.sum &+= keys.rows.contribution(of: row.optionalBlob(1))
                last = try row.integer(0)
                count += 1
            }
        if count == Self.checkSliceRows, last < .max { slice.next = last + 1 }
        return slice
    }

    // MARK: Commits

    /// The lock's facts are about to be written.
    func begin() {
        change = 0
        next = nil
    }

    /// A row of the set has this MAC now; nil: there is none.
    func replace(_ old: [UInt8]?, by new: [UInt8]?) {
        change &+= keys.rows.contribution(of: new) &- keys.rows.contribution(of: old)
    }

    /// Behind all facts, in the same transaction. While the file is in doubt its generation stays, so that the doubt does.
    func prepare() throws(StoreError) {
        if isConfirmed { return try write(try adoptedSum()) }
        guard doubt == nil, let current, isFirstCommit || change != 0 else { return }
        // Who had come half way through the rows begins again.
        if change != 0, case .from = check { check = .beginning }
        do throws(StoreError) {
            try write(current.sum &+ change)
        } catch .anchorUnusable(let path, let reason) where change == 0 {
            // A launch changes nobody's rights: a full disk beside the database keeps no owner out.
            isFirstCommit = false
            onAnchorStuck?(.anchorUnusable(path: path, reason: reason))
        }
    }

    private func write(_ sum: UInt128) throws(StoreError) {
        let generation = max(current?.name.generation ?? 0, remembered?.generation ?? 0) + 1
        let seal = keys.wrap(
            RowAuthenticator.octets(sum), table: "lock_seal", column: "seal", row: "\(generation)")
        let made = State(name: Self.name(generation, seal), sum: sum)
        // A kill before the commit may go back to what was believed, and to nothing else: a confirmation that is not on disk is
        // none.
        let present = isConfirmed ? remembered?.current : current?.name
        try anchor.write(AnchorRecord(current: present, next: made.name))
        try database.statement("INSERT OR REPLACE INTO lock_seal VALUES (1, ?, ?)").run([
            SQLValue(generation), .blob(seal),
        ])
        next = made
    }

    /// The transaction is on disk. When the anchor cannot say so, nothing more is committed, and nothing that waits for this
    /// commit leaves; unless nobody's rights have changed.
    func settle() {
        guard let made = next else { return }
        let record = AnchorRecord(current: made.name)
        do throws(StoreError) {
            try anchor.write(record)
            remembered = record
        } catch {
            guard !isConfirmed, change == 0 else { return database.fail(error) }
            onAnchorStuck?(error)
        }
        current = made
        next = nil
        isFirstCommit = false
        isConfirmed = false
    }

    // MARK: Adoption

    /// The owner says that the file is to be believed as it is: the next commit seals it. Rows whose MAC is wrong stay out; rows
    /// without one get theirs where the whole file was found without a seal, as in a copy from an earlier version.
    package func confirm() {
        guard let doubt else { return }
        adoptsUnauthenticated = doubt == .unsealed
        isConfirmed = true
        self.doubt = nil
        check = .done
    }

    private func sealAsFound() throws {
        isConfirmed = true
        check = .done
        try database.transaction {
            begin()
            try prepare()
        }
        settle()
        // What the anchor could not take.
        if database.hasFailed { try database.transaction {} }
    }

    /// Gives MACs to rows that have none, where that is due, and adds up all.
    private func adoptedSum() throws(StoreError) -> UInt128 {
        if adoptsUnauthenticated {
            try adopt(
                "lock_settings",
                """
                SELECT only, relock_seconds, lock_and_go_seconds, challenge_life_milliseconds, accepts_signed
                FROM lock_settings WHERE mac IS NULL AND only > ? LIMIT ?
                """, columns: 5, "UPDATE lock_settings SET mac = ? WHERE only = ?")
            try adopt(
                "lock_credential",
                """
                SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds
                FROM lock_credential WHERE mac IS NULL AND id > ? ORDER BY id LIMIT ?
                """, columns: 7, "UPDATE lock_credential SET mac = ? WHERE id = ?")
            try BondAdoption(database: database, keys: keys, identity: nil).perform()
        }
        var sum: UInt128 = 0
        var first: Int64? = .min
        while let next = first {
            let slice = try slice(from: next)
            sum &+= slice.sum
            first = slice.next
        }
        return sum
    }

    private func adopt(_ table: StaticString, _ select: StaticString, columns: Int32, _ update: StaticString)
        throws(StoreError)
    {
        var last = Int64.min
        var count = 0
        repeat {
            var found: [(Int64, [UInt8])] = []
            try database.statement(select).forEachRow([.integer(last), SQLValue(Self.checkSliceRows)]) {
                (row) throws(StoreError) in
                found.append((try row.integer(0), mac(table, try row.values(0..<columns))))
            }
            for (number, mac) in found { try database.statement(update).run([.blob(mac), .integer(number)]) }
            count = found.count
            last = found.last?.0 ?? last
        } while count == Self.checkSliceRows
    }
}
