import BluetoothCore

/// One table as people and programs may read it: keys and other secrets are left out before they reach this.
package struct StateTable: Equatable, Sendable {
    package enum Cell: Equatable, Sendable {
        case null
        case integer(Int64)
        case text(String)
        /// Octets that are no secret, in hexadecimal.
        case octets(String)
        /// A wrapped secret: that it is there, and nothing else.
        case secret
    }

    package var name: String
    package var columns: [String]
    package var rows: [[Cell]]
    /// How many more there are than were asked for.
    package var rowsLeftOut: Int
}

/// What is true of the file as a whole.
package struct StateSummary: Equatable, Sendable {
    package struct Step: Equatable, Sendable {
        package var component: String
        package var name: String
    }

    package var path: String
    /// Octets of the file and of its log.
    package var fileOctets: Int
    package var logOctets: Int
    package var migrations: [Step]
    /// Each fault in a line; none for a sound file.
    package var faults: [String]
}

/// Reads the database of a daemon, running or not, and changes nothing: `latch state inspect`, `check` and `backup`.
/// It knows no machine key, so it could not show a secret if it wanted to.
///
/// It looks at a copy in memory, which it takes at once. A check of a large file, or a backup to a slow disk, takes longer than
/// a daemon waits: a reader of the log keeps it from being settled at a launch, and whoever has the lock keeps commits waiting.
package final class StateInspector: StatementSource {
    package let path: String
    let connection: Connection
    /// Octets of the file and of its log when it was copied.
    private let fileOctets: Int
    private let logOctets: Int

    /// Columns that hold secrets, by their table. A test looks for wrapped values anywhere else.
    static let secretColumns: Set<String> = [
        "host_identity.irk", "host_bond.keys", "store_fact.value", "lock_seal.seal",
    ]

    /// Opens the database for reading.
    ///
    /// - Throws: A ``StoreError`` when the file is not there, is open to others, or is not ours.
    package init(path: String) throws(StoreError) {
        let file = try StateView(path: path)
        // Nobody writes until the copy is whole.
        defer { withExtendedLifetime(file) {} }
        self.path = path
        fileOctets = try StateFile.size(path) ?? 0
        logOctets = try StateFile.size(path + "-wal") ?? 0
        connection = try Connection(copying: file.connection)
    }

    /// Whether the file is sound, in every way that SQLite can check and one more: that it is of no newer version, for
    /// the components named.
    ///
    /// - Throws: ``StoreError/newerVersion(path:component:found:)``, or why the file cannot be read. Faults that SQLite
    /// finds are no error.
    package func check(components: [SchemaComponent]) throws(StoreError) -> StateSummary {
        var migrations: [StateSummary.Step] = []
        try connection.statement("SELECT component, name FROM schema_migration ORDER BY component, ordinal")
            .forEachRow { (row) throws(StoreError) in
                migrations.append(StateSummary.Step(component: try row.text(0), name: try row.text(1)))
            }
        let history = try MigrationHistory(of: connection)
        for component in [SchemaComponent.store] + components { _ = try history.missing(of: component, path: path) }
        return StateSummary(
            path: path, fileOctets: fileOctets, logOctets: logOctets, migrations: migrations,
            faults: try DatabaseFile.integrityFaults(connection))
    }

    /// A statement on the copy.
    ///
    /// - Throws: A ``StoreError`` when SQLite does not understand the statement.
    package func statement(_ sql: StaticString) throws(StoreError) -> Statement { try connection.statement(sql) }

    /// Rows of a table that are shown.
    package static let rowsMaximum = 10_000

    /// Every table with its rows, in the order of their names; at most `rowLimit` of each.
    ///
    /// - Throws: A ``StoreError`` when the file cannot be read.
    package func tables(rowLimit: Int = StateInspector.rowsMaximum) throws(StoreError) -> [StateTable] {
        var names: [String] = []
        try connection.statement("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            .forEachRow { (row) throws(StoreError) in names.append(try row.text(0)) }
        var tables: [StateTable] = []
        for name in names where !name.hasPrefix("sqlite_") { tables.append(try table(name, rowLimit: rowLimit)) }
        return tables
    }

    /// Writes what is kept at this moment into a new file, which is whole, verified and on disk when this returns.
    func copy(to path: String) throws(StoreError) { try DatabaseFile.copy(connection, to: path) }

    private func table(_ name: String, rowLimit: Int) throws(StoreError) -> StateTable {
        let quoted =
            "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
        let statement = try connection.dynamicStatement("SELECT * FROM \(quoted) LIMIT \(max(0, rowLimit))")
        let columns = statement.columnNames
        let isSecret = columns.map { Self.secretColumns.contains("\(name).\($0)") }
        var rows: [[StateTable.Cell]] = []
        try statement.forEachRow { (row) throws(StoreError) in
            rows.append(
                columns.indices.map { column in
                    switch row.value(Int32(column)) {
                    case .null: .null
                    case _ where isSecret[column]: .secret
                    case .integer(let integer): .integer(integer)
                    case .text(let text): .text(text)
                    case .blob(let octets): .octets(HexText.encode(octets))
                    }
                })
        }
        let count = try connection.dynamicStatement("SELECT count(*) FROM \(quoted)")
            .firstRow { (row) throws(StoreError) in try row.integer(0, as: Int.self) }
        return StateTable(
            name: name, columns: columns, rows: rows, rowsLeftOut: max(0, (count ?? 0) - rows.count))
    }
}
