import CLinux
import CSQLite
import Glibc

/// Looks into a daemon's database from outside, and writes nothing to it.
///
/// While somebody has it open, it is read as it stands: what counts as committed then is the log's shared index, and
/// frames that a killed process had only begun to commit do not. With nobody there a copy is read, so that the recovery
/// is left to whoever comes next.
struct DatabaseAuditor {
    /// What was found at one moment.
    struct Finding: Equatable, Sendable {
        var kept = History.Kept()
        /// CCC values by handle.
        var configurations: [UInt16: UInt16] = [:]
        /// The intent that is on disk: the sequence of its grant.
        var intent: UInt64?
        /// Challenges of commands that the key has on disk as sent and unanswered, and whether there is any request.
        var sent: [String] = []
        var hasRequest = false
        var auditRows: [AuditReader.Row] = []
        var faults: [String] = []
    }

    let database: String
    let scratch: String

    /// Under the store's own lock, so that no commit or checkpoint falls in between.
    func look(checkingIntegrity: Bool, isOpenElsewhere: Bool) throws -> Finding {
        guard access(database, R_OK) == 0 else { return Finding() }
        let lock = latch_open(database + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw DrillError.system("cannot open \(database).lock") }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 { guard errno == EINTR else { throw DrillError.system("cannot lock") } }
        if isOpenElsewhere { return try Reading(path: database).finding(checkingIntegrity: checkingIntegrity) }
        let copy = scratch + "/copy.sqlite"
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(copy + suffix) }
        try Self.copy(database, to: copy)
        if access(database + "-wal", R_OK) == 0 { try Self.copy(database + "-wal", to: copy + "-wal") }
        flock(lock, LOCK_UN)
        return try Reading(path: copy, mayRecover: true).finding(checkingIntegrity: checkingIntegrity)
    }

    private static func copy(_ source: String, to target: String) throws {
        let input = latch_open(source, O_RDONLY | O_CLOEXEC, 0)
        guard input >= 0 else { throw DrillError.system("cannot read \(source)") }
        defer { close(input) }
        let output = latch_open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw DrillError.system("cannot write \(target)") }
        defer { close(output) }
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        while true {
            let count = read(input, &buffer, buffer.count)
            guard count > 0 else { return }
            guard write(output, buffer, count) == count else { throw DrillError.system("cannot write \(target)") }
        }
    }
}

/// One opened database.
private final class Reading {
    private var connection: OpaquePointer?
    private var tables: Set<String> = []

    init(path: String, mayRecover: Bool = false) throws {
        let access = mayRecover ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        guard sqlite3_open_v2(path, &connection, access, nil) == SQLITE_OK else {
            sqlite3_close_v2(connection)
            throw DrillError(.environment, "cannot open the database at \(path)")
        }
        // One that is damaged has none that can be read, and the integrity check says so.
        each("SELECT name FROM sqlite_schema WHERE type = 'table'") { tables.insert($0.text(0)) }
    }

    deinit { sqlite3_close_v2(connection) }

    func finding(checkingIntegrity: Bool) -> DatabaseAuditor.Finding {
        var finding = DatabaseAuditor.Finding()
        if checkingIntegrity {
            var answers: [String] = []
            if !each("PRAGMA integrity_check(10)", { answers.append($0.text(0)) }) { answers.append("cannot be read") }
            if !each("PRAGMA foreign_key_check", { answers.append("a row of \($0.text(0)) refers to none") }) {
                answers.append("cannot be read")
            }
            finding.faults = answers.filter { $0 != "ok" }
        }
        host(&finding)
        lock(&finding)
        key(&finding)
        return finding
    }

    private func host(_ finding: inout DatabaseAuditor.Finding) {
        guard tables.contains("host_bond") else { return }
        each("SELECT identity, id FROM host_bond WHERE state = 2") {
            finding.kept.bonds.insert("bond \($0.text(0))/\($0.text(1))")
        }
        each("SELECT identity, bond, handle, value FROM host_client_configuration") {
            finding.kept.subscriptions.insert("configuration \($0.text(0))/\($0.text(1)) of \($0.text(2))")
            finding.configurations[UInt16(clamping: $0.integer(2))] = UInt16(clamping: $0.integer(3))
        }
        each("SELECT restoration, hex(peer), value_handle, kind FROM host_subscription") {
            finding.kept.subscriptions.insert("subscription \($0.text(0)) to \($0.text(1))/\($0.text(2))")
        }
        each("SELECT restoration, hex(peer) FROM host_pending_connection") {
            finding.kept.pendingConnections.insert("pending connection \($0.text(0)) to \($0.text(1))")
        }
        each("SELECT restoration FROM host_advertising") {
            finding.kept.advertisements.insert("advertisement \($0.text(0))")
        }
    }

    private func lock(_ finding: inout DatabaseAuditor.Finding) {
        guard tables.contains("lock_audit") else { return }
        each("SELECT intent_id FROM lock_state WHERE intent_id IS NOT NULL") {
            finding.intent = UInt64(clamping: $0.integer(0))
        }
        each("SELECT sequence, boot, at, wall_clock_seconds, event, hash FROM lock_audit ORDER BY sequence") {
            finding.auditRows.append(
                AuditReader.Row(
                    sequence: UInt64(clamping: $0.integer(0)), boot: $0.blob(1), at: UInt64(clamping: $0.integer(2)),
                    wallClockSeconds: $0.isNull(3) ? nil : $0.integer(3), event: $0.blob(4), hash: $0.blob(5)))
        }
    }

    private func key(_ finding: inout DatabaseAuditor.Finding) {
        guard tables.contains("key_request") else { return }
        each("SELECT sent FROM key_request") {
            finding.hasRequest = true
            guard !$0.isNull(0) else { return }
            finding.sent.append(hex([UInt8](littleEndian: $0.integer(0), count: 6)))
        }
    }

    struct Row {
        let statement: OpaquePointer?
        func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }
        func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }
        func text(_ column: Int32) -> String {
            sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
        }
        func blob(_ column: Int32) -> [UInt8] {
            let count = Int(sqlite3_column_bytes(statement, column))
            guard count > 0, let octets = sqlite3_column_blob(statement, column) else { return [] }
            return Array(UnsafeRawBufferPointer(start: octets, count: count))
        }
    }

    /// False when SQLite could not go through with it.
    @discardableResult
    private func each(_ sql: String, _ body: (Row) -> Void) -> Bool {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else { return false }
        defer { sqlite3_finalize(statement) }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: body(Row(statement: statement))
            case SQLITE_DONE: return true
            default: return false
            }
        }
    }
}
