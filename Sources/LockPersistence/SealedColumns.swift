import StatePersistence

/// The columns of a table of the set, in the order in which a row's MAC is over them.
///
/// Later steps have added the last ones. The MAC is over the columns up to the last one that has a value, and over those that were there
/// from the beginning: a row that has nothing in the later ones has the MAC that it had before them. No row of one kind passes for one of
/// the other, because a message of fewer columns is another message: whoever takes the last value away has not got the MAC of what is left.
struct SealedColumns {
    let table: StaticString
    private let first: Int
    private let count: Int32

    /// `first`: how many were there from the beginning.
    private init(_ table: StaticString, first: Int, count: Int32) {
        (self.table, self.first, self.count) = (table, first, count)
    }

    static let credential = Self("lock_credential", first: 7, count: 10)
    static let settings = Self("lock_settings", first: 5, count: 7)

    /// Behind all columns.
    var mac: Int32 { count }

    func mac(_ values: [SQLValue], _ rows: RowAuthenticator) -> [UInt8] {
        var values = values
        while values.count > first, values.last == .null { values.removeLast() }
        return rows.mac(table, values)
    }

    func mac(of row: Row, _ rows: RowAuthenticator) throws(StoreError) -> [UInt8] {
        mac(try row.values(0..<count), rows)
    }

    func isAuthentic(_ row: Row, _ rows: RowAuthenticator) throws(StoreError) -> Bool {
        var end = count
        while end > Int32(first), row.isNull(end - 1) { end -= 1 }
        return try rows.isAuthentic(row, table, columns: 0..<end, mac: mac)
    }
}
