import CSQLite
import Foundation
import Glibc
import StatePersistence
import TestSupport
import Testing

/// `latch state …` beside a daemon: who looks at a door's database keeps nobody at the door waiting.
@Suite("Looking at a database while its daemon is to run", .serialized)
struct StateCommandTests {
    /// `latch` with these arguments, which stands still in its first flush until this goes.
    private final class Stopped {
        private let process: ChildProcess
        private var pid: pid_t = 0

        init(_ arguments: [String]) throws {
            process = try ChildProcess(
                [
                    "/usr/bin/env", "strace", "-f", "-o", "|cat", "-e", "trace=fsync,fdatasync", "-e",
                    "inject=fsync,fdatasync:signal=SIGSTOP:when=1", Program.path,
                ] + arguments, environment: Program.environment, errors: .unheard)
            var heard = ""
            while !heard.contains("stopped by SIGSTOP") {
                let more = process.output.availableData
                try #require(!more.isEmpty, "it never flushed, or strace does not run here: \(heard)")
                heard += String(decoding: more, as: UTF8.self)
            }
            pid = try #require(heard.split(separator: " ").first.flatMap { pid_t($0) })
        }

        deinit {
            // Its number is its own as long as its tracer has not ended.
            if process.isRunning { kill(pid, SIGKILL) }
            process.wait()
        }
    }

    @Test("A backup whose disk stands still: the lock starts and answers meanwhile", arguments: [true, false])
    func slowBackup(hasLog: Bool) throws {
        let bench = try Bench()
        var lock = try bench.start("peripheral", "lock")
        lock.kill()
        let log = bench.path("lock/latch.sqlite-wal")
        if !hasLog {
            // As where a daemon's database was restored: the log is in it.
            let whole = bench.path("whole")
            try bench.succeed("state", "backup", "lock", ["--to", whole])
            for ending in ["", "-wal", "-shm"] { unlink(bench.path("lock/latch.sqlite") + ending) }
            try FileManager.default.moveItem(atPath: whole, toPath: bench.path("lock/latch.sqlite"))
        }
        #expect(FileManager.default.fileExists(atPath: log) == hasLog)
        let backup = try Stopped(["state", "backup", "--state", bench.path("lock"), "--to", bench.path("copy")])
        lock = try bench.start("peripheral", "lock")
        try bench.succeed("state", "check", "lock")
        #expect(lock.end() == 0)
        withExtendedLifetime(backup) {}
    }

    @Test("A restore identifier that is not used any more: listed, forgotten once the daemon is down, and gone")
    func forgotten() throws {
        let bench = try Bench()
        #expect(try bench.start("peripheral", "lock").end() == 0)
        let lock = try bench.start("peripheral", "lock", ["--restore-id", "front"])
        let listed = try bench.latch("state", "forget", "lock", ["--json"])
        #expect(listed.status == 0)
        let lines = listed.output.split(separator: "\n")
        #expect(lines.count == 2)
        for (line, name) in zip(lines, ["front", "lock"]) {
            #expect(line.contains("\"restore_id\":\"\(name)\"") && line.contains("\"services\":1"), "\(line)")
            #expect(line.contains("\"advertising\":true") && line.contains("\"daemon_pid\":\(lock.pid)"), "\(line)")
        }
        let refused = try bench.latch("state", "forget", "lock", ["--restore-id", "lock"])
        #expect(refused.status == 4 && refused.errors.contains("process \(lock.pid)"), "\(refused)")
        #expect(refused.errors.contains("latch.sqlite") && refused.errors.contains("\"lock\""), "\(refused)")
        #expect(lock.end() == 0)
        let unknown = try bench.latch("state", "forget", "lock", ["--restore-id", "none"])
        #expect(unknown.status == 1 && unknown.errors.contains("\"none\""), "\(unknown)")
        let done = try bench.latch("state", "forget", "lock", ["--restore-id", "lock", "--json"])
        #expect(done.status == 0 && done.output.contains("\"forgotten\":\"lock\""), "\(done)")
        let left = try bench.latch("state", "forget", "lock").output
        #expect(left.contains("restore_id: front") && !left.contains("restore_id: lock"), "\(left)")
        #expect(try bench.start("peripheral", "lock", ["--restore-id", "front"]).end() == 0)
    }

    @Test("An identifier that both roles of a shared database have wants its role")
    func bothRoles() throws {
        let bench = try Bench()
        let name = ["--restore-id", "home"]
        let lock = try bench.start("peripheral", "lock", name)
        let key = try bench.start("central", "lock", name)
        // Something that a key keeps under its name: a lock to connect to.
        let window = try Window(["--state", bench.path("lock"), "--credential", "anna", "--role", "resident"])
        try bench.succeed("central", "enroll", "lock", ["-"], input: try window.code())
        #expect(window.end() == 0)
        #expect(lock.end() == 0 && key.end() == 0)
        let ambiguous = try bench.latch("state", "forget", "lock", name)
        #expect(ambiguous.status == 2 && ambiguous.errors.contains("--role"), "\(ambiguous)")
        try bench.succeed("state", "forget", "lock", name + ["--role", "central"])
        let left = try bench.latch("state", "forget", "lock").output
        #expect(left.contains("role: peripheral") && !left.contains("role: central"), "\(left)")
    }

    @Test("A table of more rows than are shown: the rest is counted, for people and for programs")
    func manyRows() throws {
        let bench = try Bench()
        #expect(try bench.start("peripheral", "lock").end() == 0)
        func show(_ words: [String] = []) throws -> [Substring] {
            try bench.latch("state", "inspect", "lock", words).output.split(separator: "\n")
        }
        func execute(_ sql: String) throws {
            var handle: OpaquePointer?
            try #require(sqlite3_open(bench.path("lock/latch.sqlite"), &handle) == SQLITE_OK)
            defer { sqlite3_close(handle) }
            try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        }
        let name = "lock_audit_cut"
        func fill(_ count: Int) throws {
            try execute(
                """
                DELETE FROM \(name);
                WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < \(count))
                INSERT INTO \(name) SELECT 2 * x, 2 * x, zeroblob(32), zeroblob(64) FROM n
                """)
        }
        try fill(StateInspector.rowsMaximum)
        #expect(try show().contains("\(name) (10000)"))
        #expect(try !show(["--json"]).contains { $0.contains("rows_left_out") })
        try fill(StateInspector.rowsMaximum + 7)
        let lines = try show()
        #expect(lines.contains("\(name) (10007)") && lines.filter { $0.contains("left_out") } == ["  rows_left_out: 7"])
        let told = try show(["--json"]).filter { $0.contains("rows_left_out") }
        #expect(
            told.count == 1 && told[0].hasPrefix(#"{"table":"\#(name)""#) && told[0].hasSuffix(#","rows_left_out":7}"#))
    }
}
