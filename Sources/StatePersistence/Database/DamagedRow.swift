/// A row that holds what was never written there, or a secret that does not open: what it is about is not there, and
/// nothing else suffers.
package struct DamagedRow: Hashable, Sendable {
    package var table: String
    /// The row's key, or as much of it as could be read.
    package var row: String
    package var reason: String
}

// MARK: Reads behind a launch

extension Database {
    /// What `body` reads. When the file fails, that is `nothing`, and no commit succeeds any more: an iteration that rests on
    /// this answer lets nothing go, and the process ends.
    package func reading<T>(_ nothing: T, _ body: () throws(StoreError) -> T) -> T {
        do throws(StoreError) { return try body() } catch {
            fail(error)
            return nothing
        }
    }

    /// What `body` makes of each row that SQLite has read: false when it made nothing of one of them, which is told. `key` says which one
    /// it is, behind `name`.
    ///
    /// - Throws: A ``StoreError`` when SQLite cannot read the rows.
    package func forEachWhole(
        _ table: StaticString, _ name: String, _ statement: Statement, _ arguments: [SQLValue], key: Int32 = 0,
        _ body: (Row) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        var isWhole = true
        try statement.forEachRow(arguments) { (row) throws(StoreError) in
            let found: Void? = whole(table, name.isEmpty ? row.name(key) : name + " " + row.name(key)) {
                () throws(StoreError) in try body(row)
            }
            if found == nil { isWhole = false }
        }
        return isWhole
    }

    /// What `body` makes of a row that SQLite has read. A row that is damaged is told once and left out.
    package func whole<T>(_ table: StaticString, _ row: @autoclosure () -> String, _ body: () throws(StoreError) -> T)
        -> T?
    {
        do throws(StoreError) { return try body() } catch {
            let reason =
                switch error {
                case .corrupt(_, let reason): reason
                case .secretAltered: "its wrapped secret was altered"
                case .rowAltered: "it is not as this machine wrote it"
                default: "\(error)"
                }
            note(DamagedRow(table: table.description, row: row(), reason: reason))
            return nil
        }
    }
}
