import BluetoothCrypto

/// A database's way from one machine key to another: what the store and the host have wrapped or authenticated under the old one, in one
/// transaction. What cannot be read, and a row that SQLite does not change any more, stays as it is, and is damaged under the new key as it was
/// under the old one: no damage keeps an operator from another key.
///
/// The tables of other components are their owners'.
package struct KeyRotation {
    package let database: Database
    package let old: KeyWrap
    package let new: KeyWrap

    /// Rows that are in memory at once.
    package static let sliceRows = 256

    package init(database: Database, from old: KeyWrap, to new: MachineKey) {
        self.database = database
        self.old = old
        self.new = KeyWrap(new, unlookedFor: database)
    }

    /// In an open transaction. From its end on the database opens with the new key alone.
    ///
    /// - Throws: A ``StoreError``: what the disk says.
    package func perform() throws(StoreError) {
        try rewrapFacts()
        try rewrapIdentities()
        var last = Int64.min
        while let next = try rewrapBonds(behind: last) { last = next }
        try new.becomeKey(of: database)
    }

    /// A fact that is in clear is no wrapped one.
    private func rewrapFacts() throws(StoreError) {
        var found: [(name: String, value: [UInt8])] = []
        try database.statement("SELECT name, value FROM store_fact").forEachRow { (row) throws(StoreError) in
            guard let name = try? row.text(0), let value = try? row.blob(1) else { return }
            found.append((name, value))
        }
        for fact in found {
            guard let value = rewrap(fact.value, table: "store_fact", column: "value", row: fact.name) else { continue }
            try database.statement("UPDATE store_fact SET value = ? WHERE name = ?").run([
                .blob(value), .text(fact.name),
            ])
        }
    }

    private func rewrapIdentities() throws(StoreError) {
        var found: [(id: Int64, irk: [UInt8])] = []
        try database.statement("SELECT id, irk FROM host_identity").forEachRow { (row) throws(StoreError) in
            guard let id: Int64 = try? row.integer(0), let irk = try? row.blob(1) else { return }
            found.append((id, irk))
        }
        for identity in found {
            guard let irk = rewrap(identity.irk, table: "host_identity", column: "irk", row: "\(identity.id)") else {
                continue
            }
            _ = try database.statement("UPDATE host_identity SET irk = ? WHERE id = ?").runIfFitting([
                .blob(irk), .integer(identity.id),
            ])
        }
    }

    private struct BondRow {
        var row: Int64
        var identity: Int64
        var columns: [SQLValue]
        var mac: Bool
    }

    /// The last row of a slice; nil when there are no more.
    private func rewrapBonds(behind last: Int64) throws(StoreError) -> Int64? {
        let statement: StaticString = """
            SELECT id, state, peer_address_kind, peer_address, keys, key_size, ediv, rand, secure_connections, model,
                credential, mac, identity, rowid
            FROM host_bond NOT INDEXED WHERE rowid > ? ORDER BY rowid LIMIT ?
            """
        var count = 0
        var end = last
        var found: [BondRow] = []
        try database.statement(statement).forEachRow([.integer(last), SQLValue(Self.sliceRows)]) {
            (row) throws(StoreError) in
            count += 1
            end = try row.integer(13)
            guard let identity: Int64 = try? row.integer(12) else { return }
            // A row without a MAC is of an earlier version, and gets its first one at a launch.
            let isNew = row.isNull(11)
            guard let isAuthentic = try? BondRowMAC.isAuthentic(row, mac: 11, identity: identity, old.rows),
                isAuthentic || isNew, let columns = try? row.values(BondRowMAC.columns)
            else { return }
            found.append(BondRow(row: end, identity: identity, columns: columns, mac: !isNew))
        }
        for bond in found { try rewrap(bond) }
        return count < Self.sliceRows ? nil : end
    }

    private func rewrap(_ bond: BondRow) throws(StoreError) {
        guard case .integer(let id) = bond.columns[0], case .blob(let keys) = bond.columns[4],
            let wrapped = rewrap(keys, table: BondKeys.table, column: BondKeys.column, row: "\(bond.identity) \(id)")
        else { return }
        var columns = bond.columns
        columns[4] = .blob(wrapped)
        let mac: SQLValue = bond.mac ? .blob(BondRowMAC.mac(columns, identity: bond.identity, new.rows)) : .null
        _ = try database.statement("UPDATE host_bond SET keys = ?, mac = ? WHERE rowid = ?").runIfFitting([
            columns[4], mac, .integer(bond.row),
        ])
    }

    /// nil for what the old key has not wrapped there.
    private func rewrap(_ wrapped: [UInt8], table: StaticString, column: StaticString, row: String) -> [UInt8]? {
        guard var message = try? old.unwrap(wrapped, table: table, column: column, row: row) else { return nil }
        defer { message.wipe() }
        return new.wrap(message, table: table, column: column, row: row)
    }
}
