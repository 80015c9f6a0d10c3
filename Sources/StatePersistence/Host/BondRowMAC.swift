import BluetoothCore

/// What the MAC of a bond's row is over: everything but the counters, which change with each command. A counter that is set
/// back lets no command in twice, because the challenge that it answered is dead.
enum BondRowMAC {
    /// In every list of a bond's columns: `id` to `credential`.
    static let columns: Range<Int32> = 0..<11

    static func mac(_ values: [SQLValue], identity: Int64, _ rows: RowAuthenticator) -> [UInt8] {
        rows.mac(BondKeys.table, [.integer(identity)] + values)
    }

    static func isAuthentic(_ row: Row, mac: Int32, identity: Int64, _ rows: RowAuthenticator) throws(StoreError)
        -> Bool
    {
        try rows.isAuthentic(row, BondKeys.table, behind: .integer(identity), columns: columns, mac: mac)
    }
}

/// Bonds of earlier versions have no MAC. The first launch that knows MACs trusts what it finds and gives them theirs, once:
/// a fact in the file says that it has been done. Whoever takes both away is found by the anchor of the lock (`LockSeal`),
/// which says that this file was authenticated.
package struct BondAdoption {
    let database: Database
    let keys: KeyWrap
    /// nil: of all identities in the file.
    let identity: String?

    package init(database: Database, keys: KeyWrap, identity: String?) {
        self.database = database
        self.keys = keys
        self.identity = identity
    }

    private var fact: String { "bonds authenticated" + (identity.map { " \($0)" } ?? "") }

    func isDue() throws(StoreError) -> Bool {
        try database.statement("SELECT 1 FROM store_fact WHERE name = ?")
            .firstRow([.text(fact)]) { (_) throws(StoreError) in true } == nil
    }

    /// In an open transaction.
    ///
    /// - Throws: A ``StoreError``: what the disk says.
    package func perform() throws(StoreError) {
        var last = Int64.min
        while let next = try adopt(behind: last) { last = next }
        try database.statement("INSERT OR REPLACE INTO store_fact VALUES (?, ?)")
            .run([
                .text(fact), .blob(keys.wrap([], table: "store_fact", column: "value", row: fact)),
            ])
    }

    /// Rows that are in memory at once.
    private static let sliceRows = 256

    /// The last row of a slice; nil when there are no more.
    private func adopt(behind last: Int64) throws(StoreError) -> Int64? {
        let statement: StaticString = """
            SELECT id, state, peer_address_kind, peer_address, keys, key_size, ediv, rand, secure_connections, model,
                credential, identity, rowid
            FROM host_bond NOT INDEXED
            WHERE rowid > ?1 AND mac IS NULL
                AND (?2 IS NULL OR identity = (SELECT id FROM host_identity WHERE name = ?2))
            ORDER BY rowid LIMIT ?3
            """
        var found: [(row: Int64, mac: [UInt8])] = []
        try database.statement(statement)
            .forEachRow([.integer(last), SQLValue(identity), SQLValue(Self.sliceRows)]) { (row) throws(StoreError) in
                let mac = BondRowMAC.mac(
                    try row.values(BondRowMAC.columns), identity: try row.integer(11), keys.rows)
                found.append((try row.integer(12), mac))
            }
        for (row, mac) in found {
            try database.statement("UPDATE host_bond SET mac = ? WHERE rowid = ?").run([.blob(mac), .integer(row)])
        }
        return found.count < Self.sliceRows ? nil : found.last?.row
    }
}
