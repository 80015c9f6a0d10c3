import CSQLite

/// One SQLite connection and the statements prepared on it. Used by one thread.
final class Connection {
    enum Access {
        case readWrite
        /// Creates the file, which must not exist.
        case create
        /// Sees the log, when there is one.
        case readOnly
        /// Reads the file alone and creates nothing beside it; only while nobody can write it.
        case immutable
        /// A database of its own, without a file: see ``init(copying:)``.
        case memory
    }

    let path: String
    private let handle: OpaquePointer
    private var statements: [UnsafePointer<UInt8>: Statement] = [:]
    private let log = LogLength()

    init(path: String, access: Access) throws(StoreError) {
        self.path = path
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE
        var uri = Self.uri(path) + "?psow=0"
        switch access {
        case .readWrite: flags |= SQLITE_OPEN_READWRITE
        case .create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        case .immutable:
            flags |= SQLITE_OPEN_READONLY
            uri += "&immutable=1"
        case .memory:
            flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            uri = ":memory:"
        }
        var opened: OpaquePointer?
        let status = sqlite3_open_v2(uri, &opened, flags, nil)
        guard status == SQLITE_OK, let opened else {
            let error = StoreError(status: status, message: Self.message(opened), path: path)
            sqlite3_close_v2(opened)
            throw error
        }
        handle = opened
        // The last one to close would checkpoint outside the lock.
        latch_sqlite_set(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        latch_sqlite_set(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        try execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY")
    }

    /// The database as `source` reads it at one moment, page by page and with whatever is wrong with them, in memory. Nobody
    /// waits for those who use it: `source` holds nothing when this returns.
    convenience init(copying source: Connection) throws(StoreError) {
        try self.init(path: source.path, access: .memory)
        // Pages of another size than the source's cannot be copied into memory.
        try execute("PRAGMA page_size = \(try source.pageOctets)")
        guard let copying = sqlite3_backup_init(handle, "main", source.handle, "main") else {
            throw StoreError(status: sqlite3_errcode(handle), message: Self.message(handle), path: path)
        }
        let status = sqlite3_backup_step(copying, -1)
        let finished = sqlite3_backup_finish(copying)
        guard status == SQLITE_DONE else {
            throw StoreError(
                status: status == SQLITE_OK ? finished : status, message: Self.message(handle), path: path)
        }
    }

    deinit {
        statements.removeAll()
        // A statement that somebody still has keeps SQLite's connection open behind this one, and would call with what is gone.
        sqlite3_wal_hook(handle, nil, nil)
        sqlite3_close_v2(handle)
    }

    var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
    /// The row that the last INSERT made.
    var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// The octets of a page, as the file says: the same for as long as this connection is open.
    var pageOctets: Int {
        get throws(StoreError) {
            try statement("PRAGMA page_size").firstRow { (row) throws(StoreError) in try row.integer(0, as: Int.self) }
                ?? 0
        }
    }

    /// Runs any number of statements that take no arguments and whose rows nobody wants.
    func execute(_ sql: String) throws(StoreError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// The statement, prepared at its first use and kept.
    func statement(_ sql: StaticString) throws(StoreError) -> Statement {
        if let kept = statements[sql.utf8Start] { return kept }
        var prepared: OpaquePointer?
        let text = UnsafeRawPointer(sql.utf8Start).assumingMemoryBound(to: CChar.self)
        try check(
            sqlite3_prepare_v3(
                handle, text, Int32(sql.utf8CodeUnitCount), UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil))
        guard let prepared else { throw .misuse(path: path, reason: "an empty statement") }
        let statement = Statement(prepared, of: self)
        statements[sql.utf8Start] = statement
        return statement
    }

    /// For names that are not known when compiling; prepared each time.
    func dynamicStatement(_ sql: String) throws(StoreError) -> Statement {
        var prepared: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &prepared, nil))
        guard let prepared else { throw .misuse(path: path, reason: "an empty statement") }
        return Statement(prepared, of: self)
    }

    /// Waits this long for locks that other programs take (our own processes meet at the lock file before).
    func setBusyTimeout(milliseconds: Int32) { sqlite3_busy_timeout(handle, milliseconds) }

    /// Pages in the log after this connection's last commit since ``countLogPages()``; 0 before the first.
    var logPages: Int32 { log.pages }

    /// Has SQLite count the log's pages with each commit, in place of the automatic checkpoint. The count is the connection's own, so that
    /// SQLite has it for as long as it calls.
    func countLogPages() {
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                if let context { Unmanaged<LogLength>.fromOpaque(context).takeUnretainedValue().pages = pages }
                return SQLITE_OK
            }, Unmanaged.passUnretained(log).toOpaque())
    }

    /// Moves the log's pages into the database; true when all of them are there.
    func checkpoint(truncating: Bool) throws(StoreError) -> Bool { try movePages(truncating: truncating) != nil }

    /// The same; how many pages the log has, all of which are in the database then, or nil.
    func movePages(truncating: Bool) throws(StoreError) -> Int32? {
        var logged: Int32 = 0
        var moved: Int32 = 0
        let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        let status = sqlite3_wal_checkpoint_v2(handle, "main", mode, &logged, &moved)
        // A reader that still needs the log is no fault: its pages are moved next time.
        if status & 0xFF == SQLITE_BUSY { return nil }
        try check(status)
        // -1: there is no log, because nothing was read yet or the file is in another mode.
        return logged >= 0 && logged == moved ? logged : nil
    }

    /// Flushes the database's file. By SQLite's own descriptor: closing another one would drop the locks that this process
    /// has on the file.
    func flush() throws(StoreError) { try check(latch_sqlite_flush(handle)) }

    func check(_ status: Int32) throws(StoreError) {
        if status == SQLITE_OK { return }
        throw StoreError(status: status, message: Self.message(handle), path: path)
    }

    private static func message(_ handle: OpaquePointer?) -> String {
        sqlite3_errmsg(handle).map { String(cString: $0) } ?? "out of memory"
    }

    /// For SQLite, which takes every path that begins with `file:` for a URI. Two slashes at a path's beginning would name an authority.
    static func uri(_ path: String) -> String {
        var octets = Array((path.hasPrefix("/") ? "file://" : "file:").utf8)
        for octet in path.utf8 {
            switch octet {
            case UInt8(ascii: "?"): octets += Array("%3f".utf8)
            case UInt8(ascii: "#"): octets += Array("%23".utf8)
            case UInt8(ascii: "%"): octets += Array("%25".utf8)
            default: octets.append(octet)
            }
        }
        return String(decoding: octets, as: UTF8.self)
    }
}

/// Pages in the log after the last commit, which SQLite tells a C function.
private final class LogLength {
    var pages: Int32 = 0
}

extension StoreError {
    /// What an extended result code of SQLite means here.
    init(status: Int32, message: String, path: String) {
        switch status & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: self = .busy(path: path)
        case SQLITE_CORRUPT: self = .corrupt(path: path, reason: message)
        case SQLITE_NOTADB: self = .notADatabase(path: path)
        case SQLITE_READONLY: self = .readOnly(path: path)
        case SQLITE_FULL: self = .full(path: path)
        case SQLITE_IOERR where status == latchShortRead:
            self = .corrupt(path: path, reason: "it ends too early")
        case SQLITE_IOERR, SQLITE_NOMEM, SQLITE_PROTOCOL:
            self = .io(path: path, reason: "\(message), SQLite code \(status)")
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: self = .unreadable(path: path, reason: message)
        default: self = .misuse(path: path, reason: message)
        }
    }
}

/// SQLITE_IOERR_SHORT_READ, an expression that the importer does not see.
private let latchShortRead = SQLITE_IOERR | (2 << 8)
