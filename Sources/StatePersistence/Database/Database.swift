import BluetoothHost
import Glibc

#if LATCH_PLANTS
import BluetoothCore
#endif

/// How long the store waits, and how long its log grows.
package struct DatabaseLimits: Sendable {
    package static let commitWaitMaximumMilliseconds = 10_000
    package static let openWaitMaximumMilliseconds = 5_000

    /// What one commit waits for others, at the lock file and in SQLite together. Then the process ends, and its end costs
    /// a reset of the controller and every link, so this is longer than whatever others do with the file: a commit on a bad
    /// SD card (some 100 ms), a launch that waits for readers, an operator at a prompt of sqlite3.
    package var commitWaitMilliseconds = UInt64(commitWaitMaximumMilliseconds)
    /// What opening waits: for the lock file, and then for those who use the file without it. Shorter than what a commit
    /// waits, because a commit of another process may be waiting for the one who opens.
    package var openWaitMilliseconds = UInt64(openWaitMaximumMilliseconds)
    /// Octets of pages in the log from which on an idle loop moves them into the database.
    package var checkpointOctets = 512 * 1024
    /// Octets that the log keeps of the disk when it begins afresh, however long a reader has made it.
    package static let logKeptMaximumOctets = 1024 * 1024
    /// Octets of the log from which on an operator is told that a reader keeps it from beginning afresh.
    package static let logUnheldMaximumOctets = 4 * 1024 * 1024

    package init() {}
}

/// The file that everything durable is kept in: SQLite, one transaction and one flush for each iteration of the loop.
///
/// **Durability.** WAL with `synchronous=FULL`: a commit writes its pages to the end of the log and flushes the log once
/// (one `fdatasync`); after that it survives a power cut. The extra flush that SQLite owes to the header of a log
/// begun afresh is paid by ``checkpoint()`` and when opening, never by a commit.
///
/// **Page size.** 4,096 octets, as large as the sector that is filled up (below). With smaller pages SQLite writes, for each
/// one that has changed, all pages of its sector.
///
/// **No faith in powersafe overwrite.** SQLite assumes that a write cut short by a power loss harms nothing but the
/// octets being written. An SD card may not keep that, and then a torn write could destroy the end of the *previous*
/// commit, which was acknowledged. `psow=0` makes SQLite fill up the sector (4,096 octets) with each commit, so that no
/// later write touches it. That costs 7 µs here and some log, which is why it is on.
///
/// **Processes.** All take the lock of ``FileLock`` around commits and checkpoints. Automatic checkpoints, and the one
/// that SQLite makes when the last connection closes, are off: they would come outside of it.
///
/// Used by the loop's thread alone.
package final class Database {
    package let path: String
    let connection: Connection
    private let lock: FileLock
    private let limits: DatabaseLimits
    /// The first error after which nobody knows what is on disk: nothing is committed any more.
    private var failure: StoreError?
    private let pageOctets: Int
    private var nextCheckpointOctets: Int
    private var isLogHeld = false
    /// Another program's reader keeps the log from beginning afresh, and it is longer than
    /// ``DatabaseLimits/logUnheldMaximumOctets``. Once, until it has begun afresh.
    package var onLogHeld: (() -> Void)?
    private var damagedRows: Set<DamagedRow> = []
    /// Hears of each damaged row once, also of those that were found before it was set.
    package var onDamagedRow: ((DamagedRow) -> Void)? {
        didSet { if let onDamagedRow { damagedRows.forEach(onDamagedRow) } }
    }
    /// Whether the whole file was looked at before it was used (``FileCheck``).
    package let isChecked: Bool
    /// Whether opening read the file from its medium, and nothing from a cache that may show what no medium has (``CacheDrop``).
    package let isMediumProven: Bool

    /// Opens the file, or creates it and its directory, and takes the migrations that it lacks.
    ///
    /// - Throws: Any ``StoreError`` of opening; a file that is refused is left as it was. `busy` after
    /// ``DatabaseLimits/openWaitMaximumMilliseconds``.
    package convenience init(
        path: String, components: [SchemaComponent], limits: DatabaseLimits = DatabaseLimits()
    ) throws(StoreError) {
        try self.init(path: path, components: components, limits: limits, check: .whole) { (_) throws(StoreError) in }
    }

    /// Opens the file, or creates it and its directory, and takes the migrations that it lacks. A file that is refused is
    /// left as it was; `look` may refuse it too, and only reads.
    convenience init(
        path: String, components: [SchemaComponent], limits: DatabaseLimits, check: FileCheck,
        look: (Connection) throws(StoreError) -> Void
    ) throws(StoreError) {
        try StateFile.prepareDirectory(StateFile.directory(of: path))
        try StateFile.check(path)
        try StateFile.requireOneName(path)
        let lock = try FileLock(beside: path)
        try lock.acquire(waiting: limits.openWaitMilliseconds)
        defer { lock.release() }
        let all = [SchemaComponent.store] + components
        var (isChecked, isMediumProven) = (true, true)
        if try DatabaseFile.exists(path) {
            isMediumProven = try DatabaseFile.forgetCache(of: path) == .proven
            let look = try Self.look(path, lock, limits) { () throws(StoreError) in
                try DatabaseFile.look(at: path, components: all, check: check, further: look)
            }
            isChecked = look.isWhole
            if look.pageOctets != DatabaseFile.pageOctets { try PageConversion.attempt(path) }
        } else {
            try DatabaseFile.create(path, components: all)
        }
        let connection = try Connection(path: path, access: .readWrite)
        guard !connection.isReadOnly else { throw .readOnly(path: path) }
        connection.setBusyTimeout(milliseconds: Int32(clamping: limits.openWaitMilliseconds))
        try connection.execute(DatabaseFile.settings)
        try DatabaseFile.settleInheritance(connection)
        try MigrationHistory.complete(all, in: connection)
        try self.init(
            connection: connection, lock: lock, limits: limits, isChecked: isChecked, isMediumProven: isMediumProven)
        if try StateFile.size(path + "-wal") ?? 0 == 0 { try beginLog() }
    }

    /// A process of an older version could not write to the file any more once it is migrated, and may be about to end: it has as
    /// long for that as opening waits for anybody.
    private static func look(
        _ path: String, _ lock: FileLock, _ limits: DatabaseLimits,
        _ look: () throws(StoreError) -> DatabaseFile.Look
    ) throws(StoreError) -> DatabaseFile.Look {
        let deadline = FileLock.Deadline(milliseconds: limits.openWaitMilliseconds)
        var seen = try look()
        while let older = try RunningSteps.older(than: seen.outgrown, beside: path) {
            guard !deadline.hasPassed else { throw .olderProcess(path: path, pid: older.pid) }
            lock.release()
            usleep(10_000)
            try lock.acquire(until: deadline)
            seen = try look()
        }
        return seen
    }

    private init(connection: Connection, lock: FileLock, limits: DatabaseLimits, isChecked: Bool, isMediumProven: Bool)
        throws(StoreError)
    {
        self.isChecked = isChecked
        self.isMediumProven = isMediumProven
        path = connection.path
        self.connection = connection
        self.lock = lock
        self.limits = limits
        pageOctets = try connection.pageOctets
        nextCheckpointOctets = limits.checkpointOctets
        connection.countLogPages()
    }

    /// A statement of a store that shares this file, prepared at its first use and kept.
    ///
    /// - Throws: ``StoreError/misuse(path:reason:)`` for a statement that SQLite does not understand, else what the
    /// disk says.
    package func statement(_ sql: StaticString) throws(StoreError) -> Statement { try connection.statement(sql) }

    /// The row that the last INSERT made.
    package var lastInsertedRow: Int64 { connection.lastInsertedRow }

    /// Runs `body` in one transaction, on disk when this returns.
    ///
    /// - Throws: ``StoreError/busy(path:)`` when another process holds the file: nothing was written. Whatever `body`
    /// throws, after a rollback. After an error of the disk every later call throws the same.
    package func transaction(_ body: () throws -> Void) throws {
        try transaction(waiting: limits.commitWaitMilliseconds, body)
    }

    /// The same, for what can be done later as well: it waits this long for others at the most.
    ///
    /// - Throws: As the other does.
    package func transaction(waiting milliseconds: UInt64, _ body: () throws -> Void) throws {
        if let failure { throw failure }
        // Reads wait for others as commits do.
        defer { connection.setBusyTimeout(milliseconds: Int32(clamping: limits.commitWaitMilliseconds)) }
        let deadline = FileLock.Deadline(milliseconds: milliseconds)
        defer { lock.release() }
        do {
            try lock.acquire(until: deadline)
            // Others than our own processes take SQLite's locks without the lock file.
            connection.setBusyTimeout(milliseconds: deadline.remainingMilliseconds)
            try connection.statement("BEGIN IMMEDIATE").run()
            try body()
            try connection.statement("COMMIT").run()
        } catch {
            #if LATCH_PLANTS
            if Self.isBelieved(error) {
                if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                return
            }
            #endif
            // SQLite has ended the transaction itself after some errors.
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            if let error = error as? StoreError, error.leavesDoubt { failure = error }
            throw error
        }
    }

    #if LATCH_PLANTS
    private static func isBelieved(_ error: any Error) -> Bool {
        switch error as? StoreError {
        case .io: Plant.active == .flush
        case .full: Plant.active == .full
        default: false
        }
    }
    #endif

    /// Whether the log has become long since somebody was last asked to let go of it.
    package var wantsCheckpoint: Bool { logOctets >= nextCheckpointOctets }

    /// Octets of pages in the log after the last commit.
    package var logOctets: Int { Int(connection.logPages) * pageOctets }

    /// Moves a long log into the database. For moments when the loop has nothing else to do. Where a reader or a commit of
    /// another process is in its way it is wanted again when the log has grown by an eighth of what makes it long.
    ///
    /// - Throws: What ``checkpoint()`` throws.
    package func checkpointIfNeeded() throws(StoreError) {
        guard wantsCheckpoint else { return }
        let before = logOctets
        try checkpoint()
        nextCheckpointOctets = logOctets < before ? limits.checkpointOctets : before + limits.checkpointOctets / 8
        guard try StateFile.size(path + "-wal") ?? 0 > DatabaseLimits.logUnheldMaximumOctets else {
            return isLogHeld = false
        }
        if !isLogHeld {
            isLogHeld = true
            onLogHeld?()
        }
    }

    /// Moves the log into the database and begins it afresh, in place: overwriting is quicker to flush than appending.
    ///
    /// Waits for nobody: nothing is owed here, and the next idle moment asks again. When a flush fails, the log still has
    /// every page that was to be moved (SQLite counts a page as moved only behind the database's flush), this process
    /// commits nothing any more, and the next one moves all of the log again before it believes anything.
    ///
    /// - Throws: An error of the disk, never ``StoreError/busy(path:)``. The caller ends the process.
    package func checkpoint() throws(StoreError) {
        if let failure { throw failure }
        do throws(StoreError) {
            try lock.acquire(waiting: 0)
            defer { lock.release() }
            connection.setBusyTimeout(milliseconds: 0)
            // Reads wait for others as commits do.
            defer { connection.setBusyTimeout(milliseconds: Int32(clamping: limits.commitWaitMilliseconds)) }
            if try connection.checkpoint(truncating: false) { try beginLog() }
        } catch {
            if case .busy = error { return }
            if error.leavesDoubt { failure = error }
            throw error
        }
    }

    /// Nothing is committed any more: what was read cannot be trusted, or could not be read.
    package func fail(_ error: StoreError) { failure = failure ?? error }

    /// Whether every commit throws from now on.
    package var hasFailed: Bool { failure != nil }

    /// Rows that were found damaged since the file was opened.
    package var damagedRowCount: Int { damagedRows.count }

    func note(_ row: DamagedRow) {
        if damagedRows.insert(row).inserted { onDamagedRow?(row) }
    }

    /// What SQLite finds wrong with the file, a line each; none when it is sound. Reads all of it.
    ///
    /// - Throws: A ``StoreError`` when the file cannot be read to its end.
    package func integrityCheck() throws(StoreError) -> [String] { try DatabaseFile.integrityFaults(connection) }

    /// Commits something that means nothing, so that the flush of a new log's header is not paid by the next commit.
    /// `user_version` counts these.
    private func beginLog() throws(StoreError) {
        let count = try connection.statement("PRAGMA user_version")
            .firstRow { (row) throws(StoreError) in try row.integer(0, as: Int32.self) }
        try connection.execute("PRAGMA user_version = \((count ?? 0) &+ 1)")
    }
}

extension Database: TransactionCoordinator {
    /// Commits what the participants have appended, in one transaction. Writes nothing when nothing is pending.
    ///
    /// - Throws: ``StoreError/busy(path:)`` when another process holds the file: then, as after any error in
    /// `writePending`, nothing was written. After an error of the disk itself every later call throws it again.
    package func commit(_ participants: [any CommitParticipant]) throws {
        guard participants.contains(where: { $0.hasPending }) else { return }
        try transaction {
            for participant in participants where participant.hasPending { try participant.writePending() }
        }
        for participant in participants where participant.hasPending { participant.didCommit() }
        // What a participant owes to another file behind its commit, and could not pay.
        if let failure { throw failure }
    }
}

extension StoreError {
    /// Whether the disk has just refused: whoever has a door to secure does not ask it again before.
    package var isOfDisk: Bool {
        switch self {
        case .busy, .io, .full, .readOnly: true
        default: false
        }
    }

    /// Whether the disk may now hold something else than memory says.
    var leavesDoubt: Bool {
        switch self {
        case .io, .full, .corrupt, .notADatabase, .readOnly, .unreadable, .anchorUnusable: true
        default: false
        }
    }
}
