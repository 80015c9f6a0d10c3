import CLinux

/// What the database of a daemon, running or not, says at one moment. Changes nothing, and knows no machine key.
///
/// A reader of the log keeps it from being settled at a launch, and whoever has the lock keeps commits waiting. So it is let go soon: who
/// reads much reads a slice in each of many views.
package final class StateView: StatementSource {
    package let path: String
    let connection: Connection
    /// nil where a log tells readers and writers apart, or no lock can be made.
    private let lock: FileLock?

    /// Begins to read the file as it is now.
    ///
    /// - Throws: A ``StoreError`` when the file is not there, is open to others, or is not ours.
    package init(path: String) throws(StoreError) {
        guard try StateFile.size(path) != nil else { throw .unreadable(path: path, reason: "no such file") }
        try StateFile.check(path)
        guard try DatabaseFile.exists(path) else { throw .unreadable(path: path, reason: "no such file") }
        self.path = path
        // Without a log there is nothing by which SQLite would tell readers and writers apart: nobody writes meanwhile. A file
        // system where no lock can be made is one that nobody writes to.
        let hasLog = try StateFile.size(path + "-wal") ?? 0 > 0
        lock = hasLog ? nil : try? FileLock(beside: path)
        try lock?.acquire(waiting: DatabaseLimits().openWaitMilliseconds)
        connection = try hasLog ? Connection(path: path, access: .readOnly) : DatabaseFile.lookingConnection(path)
        connection.setBusyTimeout(milliseconds: Int32(DatabaseLimits().openWaitMilliseconds))
        try DatabaseFile.requireOurs(connection)
        try connection.execute("BEGIN")
    }

    /// Prepared at its first use and kept.
    ///
    /// - Throws: A ``StoreError`` when SQLite does not understand the statement.
    package func statement(_ sql: StaticString) throws(StoreError) -> Statement { try connection.statement(sql) }

    deinit { lock?.release() }
}
