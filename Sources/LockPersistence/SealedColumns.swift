import StatePersistence

/// The columns of a table of the set, in the order in which a row's MAC is over them.
///
/// A later step has added the last one. A row that has NULL there has the MAC that it had before that step: over the columns in front of
/// it. No row of one kind passes for one of the other, because a message of fewer columns is another message: whoever takes
/// the value away has not got the MAC of what is left.
struct SealedColumns {
    let table: StaticString
    private let count: Int32

    static let credential = Self(table: "lock_credential", count: 8)
    static let settings = Self(table: "lock_settings", count: 6)

    /// Behind all columns.
    var mac: Int32 { count }

    func mac(_ values: [SQLValue], _ rows: RowAuthenticator) -> [UInt8] {
        rows.mac(table, values.last == .null ? values.dropLast() : values)
    }

    func mac(of row: Row, _ rows: RowAuthenticator) throws(StoreError) -> [UInt8] {
        mac(try row.values(0..<count), rows)
    }

    func isAuthentic(_ row: Row, _ rows: RowAuthenticator) throws(StoreError) -> Bool {
        try rows.isAuthentic(row, table, columns: 0..<(row.isNull(count - 1) ? count - 1 : count), mac: mac)
    }
}
