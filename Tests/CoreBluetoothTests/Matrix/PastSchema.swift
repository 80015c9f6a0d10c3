import Glibc
import Testing

@testable import StatePersistence

/// What an earlier version would have left of an app's state: the tables as its own steps made them, and of each row the columns
/// that it knew. Every step so far has added columns and tables, and has taken nothing away.
enum PastSchema {
    /// Those before the present one, counted from 1.
    static let all = 1..<SchemaComponent.host.migrations.count
    /// The first one whose bonds are authenticated.
    private static let authenticated = 5

    /// Rewrites the state that a process has left in `directory`.
    static func rewrite(_ directory: String, to schema: Int) throws {
        let (present, past) = (directory + "/bluetooth.sqlite", directory + "/past.sqlite")
        _ = try StateFile.open(past, O_RDWR | O_CREAT | O_EXCL)
        do {
            let connection = try Connection(path: past, access: .create)
            try connection.execute("PRAGMA page_size = 1024; PRAGMA application_id = \(0x4C74_6368)")
            try connection.execute(DatabaseFile.settings)
            let steps = SchemaComponent("host", Array(SchemaComponent.host.migrations.prefix(schema)))
            try MigrationHistory.complete([.store, steps], in: connection)
            try connection.execute("ATTACH DATABASE '\(present)' AS present")
            for table in try tables(connection) {
                let columns = try columns(of: table, connection).joined(separator: ", ")
                try connection.execute("INSERT INTO main.\(table) (\(columns)) SELECT \(columns) FROM present.\(table)")
            }
            if schema < authenticated {
                try connection.execute("DELETE FROM main.store_fact WHERE name LIKE 'bonds authenticated%'")
            }
            try connection.execute("DETACH DATABASE present")
            _ = try connection.checkpoint(truncating: true)
        }
        for end in ["-wal", "-shm"] {
            unlink(present + end)
            unlink(past + end)
        }
        try #require(rename(past, present) == 0)
    }

    /// In the order in which they were made: a row's parents come before it.
    private static func tables(_ connection: Connection) throws -> [String] {
        var names: [String] = []
        let statement = try connection.statement(
            """
            SELECT name FROM main.sqlite_schema WHERE type = 'table' AND (name LIKE 'host_%' OR name = 'store_fact')
            ORDER BY rowid
            """)
        try statement.forEachRow { (row) throws(StoreError) in names.append(try row.text(0)) }
        return names
    }

    private static func columns(of table: String, _ connection: Connection) throws -> [String] {
        var names: [String] = []
        try connection.statement("SELECT name FROM pragma_table_info(?)")
            .forEachRow([.text(table)]) { (row) throws(StoreError) in names.append(try row.text(0)) }
        return names
    }
}
