import LockPeripheral
import StatePersistence

/// The rows of the sealed set, as they lie in the file: adds up their MACs, mends one, and gives first ones to rows of an earlier
/// version. What they should be only ``LockSeal`` knows.
struct SealedRows {
    let database: Database
    let keys: KeyWrap

    // MARK: Sums

    /// All of them.
    func sums() throws(StoreError) -> SetSums {
        var sums = SetSums()
        var first: Int64? = .min
        while let next = first { first = try addSlice(from: next, to: &sums) }
        return sums
    }

    /// The sum of a part as its rows are now. `seen` hears of each credential with a MAC.
    func sum(of part: Int, _ seen: (Int64, UInt128) -> Void) throws(StoreError) -> UInt128 {
        var sum: UInt128 = 0
        guard part != SetSums.settingsPart else {
            try database.statement("SELECT mac FROM lock_settings").forEachRow { (row) throws(StoreError) in
                sum &+= keys.rows.contribution(of: row.optionalUInt128(0))
            }
            return sum
        }
        let ids = SetSums.credentials(of: part)
        try database.statement("SELECT id, mac FROM lock_credential WHERE id >= ? AND id <= ?")
            .forEachRow([.integer(ids.lowerBound), .integer(ids.upperBound)]) { (row) throws(StoreError) in
                guard let mac = row.optionalUInt128(1) else { return }
                sum &+= keys.rows.contribution(of: mac)
                seen(try row.integer(0), mac)
            }
        return sum
    }

    /// Adds one slice's rows; where the next one begins. The settings are with the first slice.
    func addSlice(from first: Int64, to sums: inout SetSums) throws(StoreError) -> Int64? {
        if first == .min {
            sums[SetSums.settingsPart] = try sum(of: SetSums.settingsPart) { _, _ in }
        }
        var (count, last) = (0, first)
        try database.statement("SELECT id, mac FROM lock_credential WHERE id >= ? ORDER BY id LIMIT ?")
            .forEachRow([.integer(first), SQLValue(LockSeal.checkSliceRows)]) { (row) throws(StoreError) in
                last = try row.integer(0)
                sums[SetSums.part(of: last)] &+= keys.rows.contribution(of: row.optionalUInt128(1))
                count += 1
            }
        return count == LockSeal.checkSliceRows && last < .max ? last + 1 : nil
    }

    // MARK: Mending

    /// nil: there are none.
    func areSettingsWhole() throws(StoreError) -> Bool? {
        try database.statement(Self.settings).firstRow { (row) throws(StoreError) in
            (try? SealedColumns.settings.isAuthentic(row, keys.rows)) ?? false
        }
    }

    private static let settings: StaticString = """
        SELECT only, relock_seconds, lock_and_go_seconds, challenge_life_milliseconds, accepts_signed, schedules,
            mode, mac
        FROM lock_settings
        """

    /// Where one row's MAC is damaged and nothing else, the seal proves what the row says: with the MAC that belongs to its
    /// columns the sum is right. It gets that MAC again. (With the damaged one in the sum, a row that somebody has kept
    /// might have been meant.)
    func mend(_ part: Int, lacking difference: UInt128) -> Bool {
        database.reading(false) { () throws(StoreError) in
            guard part != SetSums.settingsPart else {
                return try mend(
                    .settings, Self.settings, [], "UPDATE lock_settings SET mac = ? WHERE only = ?", difference)
            }
            let ids = SetSums.credentials(of: part)
            return try mend(
                .credential,
                """
                SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, schedules,
                    user, kind, mac
                FROM lock_credential WHERE id >= ? AND id <= ?
                """, [.integer(ids.lowerBound), .integer(ids.upperBound)],
                "UPDATE lock_credential SET mac = ? WHERE id = ?", difference)
        }
    }

    private func mend(
        _ columns: SealedColumns, _ select: StaticString, _ arguments: [SQLValue], _ update: StaticString,
        _ difference: UInt128
    ) throws(StoreError) -> Bool {
        var found: (row: Int64, mac: [UInt8])?
        try database.statement(select).forEachRow(arguments) { (row) throws(StoreError) in
            guard found == nil, let right = try? columns.mac(of: row, keys.rows) else { return }
            let stored = keys.rows.contribution(of: row.optionalUInt128(columns.mac))
            if keys.rows.contribution(of: right) &- stored == difference { found = (try row.integer(0), right) }
        }
        guard let found else { return false }
        let isWritten: Void? = try? database.transaction {
            try database.statement(update).run([.blob(found.mac), .integer(found.row)])
        }
        return isWritten != nil
    }

    // MARK: Adoption

    /// Gives MACs to all rows that have none, bonds among them.
    func adopt() throws(StoreError) {
        try adopt(
            .settings,
            """
            SELECT only, relock_seconds, lock_and_go_seconds, challenge_life_milliseconds, accepts_signed, schedules,
                mode
            FROM lock_settings WHERE mac IS NULL AND only > ? LIMIT ?
            """, "UPDATE lock_settings SET mac = ? WHERE only = ?")
        try adopt(
            .credential,
            """
            SELECT id, name, role, is_enabled, bond, not_before_seconds, not_after_seconds, schedules,
                user, kind
            FROM lock_credential WHERE mac IS NULL AND id > ? ORDER BY id LIMIT ?
            """, "UPDATE lock_credential SET mac = ? WHERE id = ?")
        try BondAdoption(database: database, keys: keys, identity: nil).perform()
    }

    private func adopt(_ columns: SealedColumns, _ select: StaticString, _ update: StaticString)
        throws(StoreError)
    {
        var last = Int64.min
        var count = 0
        repeat {
            var found: [(Int64, [UInt8])] = []
            try database.statement(select).forEachRow([.integer(last), SQLValue(LockSeal.checkSliceRows)]) {
                (row) throws(StoreError) in
                found.append((try row.integer(0), try columns.mac(of: row, keys.rows)))
            }
            for (number, mac) in found { try database.statement(update).run([.blob(mac), .integer(number)]) }
            count = found.count
            last = found.last?.0 ?? last
        } while count == LockSeal.checkSliceRows
    }
}
