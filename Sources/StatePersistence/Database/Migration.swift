import Glibc

/// One step of a component's schema. Frozen once released: files in the field have gone through it as it is, so a
/// change is a new step.
package struct Migration: Sendable {
    package let name: String
    package let sql: String

    package init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }

    /// Whether this is a part of its SQL. A launch asks: C searches in microseconds what String takes half a millisecond for.
    package func has(_ text: String) -> Bool {
        // C's texts end at their first zero, and the empty one is everywhere.
        guard !text.isEmpty, !text.utf8.contains(0) else { return false }
        return strstr(sql, text) != nil
    }
}

/// The tables of one owner, and the steps that led to them. Names of tables begin with the component's.
package struct SchemaComponent: Sendable {
    package let name: String
    package let migrations: [Migration]

    package init(_ name: String, _ migrations: [Migration]) {
        self.name = name
        self.migrations = migrations
    }

    /// The store's own: which steps a file has gone through, and facts about the file as a whole.
    static let store = Self(
        "store",
        [
            Migration(
                "1 migrations and facts",
                """
                CREATE TABLE schema_migration (
                    component TEXT NOT NULL,
                    ordinal INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    PRIMARY KEY (component, ordinal)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE store_fact (
                    name TEXT NOT NULL PRIMARY KEY,
                    value BLOB NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
        ])
}

/// Which steps a file has gone through.
struct MigrationHistory {
    private var names: [String: [String]] = [:]

    /// A file without tables has none.
    init(of connection: Connection) throws(StoreError) {
        let known = try connection.statement("SELECT 1 FROM sqlite_schema WHERE name = 'schema_migration'")
        guard try known.firstRow([], { (_) throws(StoreError) in true }) == true else { return }
        var found: [String: [String]] = [:]
        try connection.statement("SELECT component, name FROM schema_migration ORDER BY component, ordinal")
            .forEachRow { (row) throws(StoreError) in found[try row.text(0), default: []].append(try row.text(1)) }
        names = found
    }

    /// The steps that are missing. Throws when the file has one that `component` does not know.
    func missing(of component: SchemaComponent, path: String) throws(StoreError) -> ArraySlice<Migration> {
        let done = names[component.name] ?? []
        for (index, name) in done.enumerated() {
            guard index < component.migrations.count, component.migrations[index].name == name else {
                throw .newerVersion(path: path, component: component.name, found: name)
            }
        }
        return component.migrations[done.count...]
    }

    /// Takes every missing step, each in a transaction of its own.
    static func complete(_ components: [SchemaComponent], in connection: Connection) throws(StoreError) {
        let history = try Self(of: connection)
        for component in components {
            let missing = try history.missing(of: component, path: connection.path)
            for (ordinal, step) in zip(missing.indices, missing) {
                try connection.execute("BEGIN IMMEDIATE")
                do throws(StoreError) {
                    try connection.execute(step.sql)
                    try connection.statement("INSERT INTO schema_migration VALUES (?, ?, ?)")
                        .run([.text(component.name), SQLValue(ordinal + 1), .text(step.name)])
                    try connection.execute("COMMIT")
                } catch {
                    if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                    throw error
                }
            }
        }
    }
}
