/// Gives a file that an earlier version made pages of today's size: with small ones a command writes three times as much.
///
/// SQLite changes no page size in place while there is a log. So the file is copied under another name, and the copy takes the
/// file's name when it is whole and on disk: whenever the power fails, one or the other is under it, complete. Nobody else may
/// have the file open meanwhile, who would go on in one that has no name any more.
enum PageConversion {
    /// A launch waits for a copy of so much, and of no more: a larger file keeps its pages, which are good as they are.
    static let fileOctetsMaximum = 1024 * 1024

    /// Converts the file when it is small enough and nobody else has it open. Whatever keeps the copy from being made leaves
    /// the file as it is. Under the lock, while this process has it open nowhere.
    ///
    /// - Throws: When the log cannot be settled, or nobody knows which of the two files a power cut leaves.
    static func attempt(_ path: String) throws(StoreError) {
        let octets = try StateFile.size(path) ?? 0
        let log = try StateFile.size(path + "-wal") ?? 0
        guard octets + log <= fileOctetsMaximum else { return }
        let connection = try Connection(path: path, access: .readWrite)
        guard !connection.isReadOnly, try isAlone(connection) else { return }
        try connection.execute(DatabaseFile.settings)
        try DatabaseFile.settleInheritance(connection)
        do throws(StoreError) { try makeDraft(from: connection) } catch {
            // A full disk, or a fault in the file, which is for those who check it.
            try? DatabaseFile.removeDraft(of: path)
            return
        }
        try replace(path)
        withExtendedLifetime(connection) {}
    }

    /// Whether no other connection is on the file. None can come while this one is open.
    private static func isAlone(_ connection: Connection) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try connection.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")
            return true
        } catch .busy {
            return false
        }
    }

    /// A copy that is whole, verified and on disk.
    static func makeDraft(from connection: Connection) throws(StoreError) {
        try DatabaseFile.removeDraft(of: connection.path)
        let draft = DatabaseFile.draft(of: connection.path)
        try DatabaseFile.copy(connection, to: draft, owner: connection.path)
    }

    /// The log is gone for good before another file has the name that it belongs to: it is empty, but a power cut might bring
    /// its frames back, for a file that they were not made for.
    private static func replace(_ path: String) throws(StoreError) {
        for suffix in ["-wal", "-shm"] { try StateFile.removeIfPresent(path + suffix) }
        try StateFile.synchronizeDirectory(StateFile.directory(of: path))
        try StateFile.rename(DatabaseFile.draft(of: path), to: path)
    }
}
