import CLinux
import Glibc

/// Making a database file, and looking at one before it is touched.
enum DatabaseFile {
    /// "Ltch": tells this program's databases from others.
    private static let applicationID: Int32 = 0x4C74_6368
    /// What is made has pages of so many octets; what an earlier version made may have smaller ones (``PageConversion``).
    static let pageOctets = 4_096

    /// Settings that belong to a connection. `secure_delete=FAST` overwrites deleted rows on pages that are written
    /// anyway. Setting WAL changes nothing but a restored backup, which comes without.
    static let settings = """
        PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
        PRAGMA secure_delete = FAST; PRAGMA wal_autocheckpoint = 0;
        PRAGMA journal_size_limit = \(DatabaseLimits.logKeptMaximumOctets)
        """

    static func exists(_ path: String) throws(StoreError) -> Bool {
        if let size = try StateFile.size(path) {
            // One made by `create` is never empty.
            guard size > 0 else { throw .notADatabase(path: path) }
            return true
        }
        guard try StateFile.size(path + "-wal") ?? 0 == 0 else {
            throw .corrupt(path: path, reason: "it is gone, but its log \(path)-wal is there")
        }
        return false
    }

    /// Creates the file under another name and renames it when it is complete and on disk: a file under its own name is
    /// a whole database whenever the process is killed. Under the lock.
    static func create(_ path: String, components: [SchemaComponent]) throws(StoreError) {
        let draft = draft(of: path)
        try removeDraft(of: path)
        do {
            // SQLite would let the umask choose its mode.
            _ = try StateFile.open(draft, O_RDWR | O_CREAT | O_EXCL)
            let connection = try Connection(path: draft, access: .create)
            try connection.execute("PRAGMA page_size = \(pageOctets); PRAGMA application_id = \(applicationID)")
            try connection.execute(settings)
            try MigrationHistory.complete(components, in: connection)
            guard try connection.checkpoint(truncating: true) else { throw StoreError.busy(path: draft) }
        } catch let error as StoreError {
            throw error
        } catch {
            throw .misuse(path: draft, reason: "\(error)")
        }
        for suffix in ["-wal", "-shm"] { try StateFile.removeIfPresent(draft + suffix) }
        try StateFile.synchronize(draft)
        try StateFile.rename(draft, to: path)
        // Who made the directory may have been killed before its name was on disk.
        try StateFile.synchronizeName(of: StateFile.directory(of: path))
    }

    /// What is to have the file's name, and is not whole yet. Under the lock.
    static func draft(of path: String) -> String { path + ".new" }

    static func removeDraft(of path: String) throws(StoreError) {
        for suffix in ["", "-wal", "-shm", "-journal"] { try StateFile.removeIfPresent(draft(of: path) + suffix) }
    }

    /// Lets the medium say what is in the file and its log, not the cache: before anything is read. Under the lock.
    ///
    /// A process that is killed, or whose flush fails, leaves what it wrote in the kernel's cache. After a failed flush those
    /// pages count as clean: they are read like any others, no later flush writes them, and none reports them. Not even
    /// writing them again helps where the block was new: ext4 takes its cached page for one that has its block already, and
    /// never notes that the block is in use now. So the cache has to let go of them. What a flush has confirmed is on the
    /// medium; what none has was never acknowledged.
    ///
    /// The log's pages need no proof: all of them are moved before anything rests on one.
    static func forgetCache(of path: String) throws(StoreError) -> CacheDrop.Verdict {
        let log = path + "-wal"
        if try StateFile.size(log) != nil { try CacheDrop.advise(log) }
        return try CacheDrop.prove(path)
    }

    /// Moves what others left in the log into the database, which is flushed, and begins a new log, before anything rests on
    /// the file: a commit that is appended behind frames that are not on the medium would be lost with them. Under the lock,
    /// by a connection that has not written yet.
    ///
    /// All of the log is moved, also what a checkpoint moved whose flush failed. Alone, this connection makes the log's index
    /// anew, and nothing counts as moved; while other processes have the file open the index is theirs, and it counts as
    /// moved only what a flush of theirs has confirmed. Killed in the middle, the log is whole, and the next launch does the
    /// same again.
    static func settleInheritance(_ connection: Connection) throws(StoreError) {
        let log = connection.path + "-wal"
        if try StateFile.size(log) ?? 0 > 0 {
            // Twice, since the second call has emptied the log before it could say how much there was. Moving pages ends with
            // a flush of the database. The log's own name may have been lost with the process that made it.
            let pages = try connection.movePages(truncating: false)
            guard try connection.checkpoint(truncating: true), try StateFile.size(log) ?? 0 == 0 else {
                throw .logHeld(path: connection.path)
            }
            if let pages, pages > 0 {
                return try StateFile.synchronizeDirectory(StateFile.directory(of: connection.path))
            }
        }
        // A backup that was copied there, and a name that it or `create` gave, may not be on disk yet.
        try connection.flush()
        try StateFile.synchronizeDirectory(StateFile.directory(of: connection.path))
    }

    /// Refuses what cannot be used, without writing to the file, its log or its journal mode. Under the lock. The
    /// connection is closed when this returns.
    static func look(
        at path: String, components: [SchemaComponent], check: FileCheck,
        further: (Connection) throws(StoreError) -> Void
    ) throws(StoreError) -> Look {
        let connection = try lookingConnection(path)
        try requireOurs(connection)
        let history = try MigrationHistory(of: connection)
        var outgrown: [String: Int] = [:]
        for component in components {
            let missing = try history.missing(of: component, path: path)
            // A component that is new to the file is new to all who use it.
            if !missing.isEmpty, missing.startIndex > 0 { outgrown[component.name] = component.migrations.count }
        }
        let isWhole = try check.isWhole(path)
        if isWhole { try requireSound(connection) } else { try requireLength(connection) }
        try further(connection)
        if isWhole { try FileCheck.forgetDamage(of: path) }
        return Look(isWhole: isWhole, pageOctets: try connection.pageOctets, outgrown: outgrown)
    }

    /// What a look has seen.
    struct Look {
        /// Whether it was at the whole file.
        var isWhole: Bool
        var pageOctets: Int
        /// The components that the file has and whose steps are to be completed, and how many each will have.
        var outgrown: [String: Int]
    }

    /// It ends where its header says, or behind that. With a log the header may be the log's, of a file that is to grow yet.
    private static func requireLength(_ connection: Connection) throws(StoreError) {
        guard try StateFile.size(connection.path + "-wal") ?? 0 == 0 else { return }
        let pages = try connection.statement("PRAGMA page_count")
            .firstRow { (row) throws(StoreError) in try row.integer(0, as: Int.self) }
        guard try StateFile.size(connection.path) ?? 0 >= (pages ?? 0) * connection.pageOctets else {
            throw .corrupt(path: connection.path, reason: "it ends too early")
        }
    }

    /// Writes what is kept at this moment into a new file, in one piece, without its gaps and in pages of today's size. When
    /// this returns the copy is whole, verified and on disk; its name is not.
    static func copy(_ connection: Connection, to target: String, owner: String? = nil) throws(StoreError) {
        // Made first, because SQLite would let the umask choose its mode; it takes an empty file for a new one.
        let file = try StateFile.open(target, O_RDWR | O_CREAT | O_EXCL)
        if let owner { try StateFile.giveToOwner(of: owner, file, path: target) }
        do throws(StoreError) {
            try connection.dynamicStatement("VACUUM INTO ?").run([.text(Connection.uri(target))])
        } catch {
            throw error.ofDisk(at: target)
        }
        do throws(StoreError) {
            if try connection.pageOctets != pageOctets {
                // A step of its own: what was copied from memory keeps its pages. Nobody has this file yet, so it needs no journal.
                try Connection(path: target, access: .readWrite)
                    .execute("PRAGMA journal_mode = OFF; PRAGMA page_size = \(pageOctets); VACUUM")
            }
            try requireSoundCopy(target).flush()
        } catch {
            // SQLite copies much of what is wrong as it is.
            let faults = error.isDamage ? try integrityFaults(connection) : []
            guard faults.isEmpty else { throw .corrupt(path: connection.path, reason: faults.joined(separator: "; ")) }
            throw error
        }
    }

    /// Reads all of a file that nobody writes, and that has no log.
    @discardableResult
    static func requireSoundCopy(_ target: String) throws(StoreError) -> Connection {
        let copy = try Connection(path: target, access: .immutable)
        try requireOurs(copy)
        let faults = try integrityFaults(copy)
        guard faults.isEmpty else { throw .corrupt(path: target, reason: faults.joined(separator: "; ")) }
        return copy
    }

    /// A connection that only reads. With a log it must read that too, or it would miss what was committed last;
    /// without one it must not create one.
    static func lookingConnection(_ path: String) throws(StoreError) -> Connection {
        let hasLog = try StateFile.size(path + "-wal") ?? 0 > 0
        return try Connection(path: path, access: hasLog ? .readOnly : .immutable)
    }

    static func requireOurs(_ connection: Connection) throws(StoreError) {
        let found = try connection.statement("PRAGMA application_id")
            .firstRow { (row) throws(StoreError) in try row.integer(0, as: Int32.self) }
        guard found == applicationID else { throw .foreign(path: connection.path) }
    }

    /// Every page is where its tree says and has the right form. (`quick_check` leaves out only whether indexes and
    /// tables agree, which takes several times as long; `latch state check` looks at that too.) A value that does not fit its column
    /// costs its own row, when that is read; so many of them are no accident of one row.
    static func requireSound(_ connection: Connection) throws(StoreError) {
        var rowFaults = 0
        var fault: String?
        try connection.dynamicStatement("PRAGMA quick_check(\(rowFaultsMaximum + 1))")
            .forEachRow { (row) throws(StoreError) in
                let line = try row.text(0)
                if isOfOneRow(line) { rowFaults += 1 } else if line != "ok" { fault = fault ?? line }
            }
        if let fault { throw .corrupt(path: connection.path, reason: oneLine(fault)) }
        guard rowFaults <= rowFaultsMaximum else {
            throw .corrupt(path: connection.path, reason: "more than \(rowFaultsMaximum) values fit no column")
        }
    }

    /// Values that fit no column, in a file that is used all the same.
    static let rowFaultsMaximum = 100

    /// A fault of one value, and not of the page that it is on.
    private static func isOfOneRow(_ fault: String) -> Bool {
        [
            "NULL value in ", "non-INTEGER value in ", "non-TEXT value in ", "non-BLOB value in ",
            "CHECK constraint failed in ",
        ]
        .contains { fault.hasPrefix($0) }
    }

    /// Everything that SQLite can check.
    static func integrityFaults(_ connection: Connection) throws(StoreError) -> [String] {
        var faults: [String] = []
        try connection.statement("PRAGMA integrity_check(20)")
            .forEachRow { (row) throws(StoreError) in faults.append(Self.oneLine(try row.text(0))) }
        try connection.statement("PRAGMA foreign_key_check")
            .forEachRow { (row) throws(StoreError) in
                faults.append("a row of \(try row.text(0)) refers to a missing row of \(try row.text(2))")
            }
        return faults == ["ok"] ? [] : faults.filter { $0 != "ok" }
    }

    private static func oneLine(_ text: String?) -> String {
        (text ?? "no answer").split(whereSeparator: \.isNewline).joined(separator: "; ")
    }
}

extension StoreError {
    /// Of a copy that is being made: what a disk refuses is refused by the copy's. SQLite names the database that is copied.
    fileprivate func ofDisk(at path: String) -> Self {
        switch self {
        case .full: .full(path: path)
        case .readOnly: .readOnly(path: path)
        case .io(_, let reason): .io(path: path, reason: reason)
        case .unreadable(_, let reason): .unreadable(path: path, reason: reason)
        default: self
        }
    }
}
