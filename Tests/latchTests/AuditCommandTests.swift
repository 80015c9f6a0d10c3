import CSQLite
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

/// `latch audit …` beside a running lock, as an operator has it.
@Suite("Commands: the audit")
struct AuditCommandTests {
    private let bench: Bench
    private let lock: Daemon

    init() throws {
        bench = try Bench()
        lock = try bench.start("peripheral", "lock")
    }

    private func enroll(_ name: String) throws {
        // The window closes by itself: nobody comes.
        #expect(try bench.latch("peripheral", "enroll", "lock", ["--credential", name, "--seconds", "1"]).status != 0)
    }

    private func key() throws -> String {
        let status = try bench.latch("peripheral", "status", "lock").output
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("audit_key: ") })
        return String(line.dropFirst("audit_key: ".count))
    }

    @Test("What was done is listed, whole under the lock's key, and exported once")
    func whole() throws {
        try enroll("=1+1, \"x\"")
        let list = try bench.latch("audit", "list", "lock").output.split(separator: "\n")
        #expect(list.contains { $0.contains("window_opened") && $0.contains("role=resident") }, "\(list)")
        let some = try bench.latch("audit", "list", "lock", ["--credential", "=1+1, \"x\"", "--limit", "1", "--json"])
            .output
        #expect(some.contains("\"what\":\"window_closed\"") && some.split(separator: "\n").count == 1, "\(some)")

        let verified = try bench.latch("audit", "verify", "lock", ["--public-key", try key(), "--json"])
        #expect(verified.status == 0 && verified.output.contains("\"faults\":[]"), "\(verified)")
        let csv = try bench.latch("audit", "export", "lock", ["--to", "-", "--format", "csv"]).output
        #expect(csv.contains("window_opened,\"'=1+1, \"\"x\"\"\","), "\(csv)")

        let target = bench.path("export")
        try bench.succeed("audit", "export", "lock", ["--to", target])
        let exported = try String(contentsOfFile: target, encoding: .utf8)
        #expect(exported.split(separator: "\n").count == list.count + 1 && exported.contains("{\"checkpoint\":"))
        let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let again = try bench.latch("audit", "export", "lock", ["--to", target])
        #expect(again.status == 1 && again.errors.contains(target), "\(again)")
        #expect(try String(contentsOfFile: target, encoding: .utf8) == exported, "what is there stays as it is")
    }

    @Test("The newest records, and page by page those before them, are all that there are")
    func pages() throws {
        for name in ["anna", "bert", "carla"] { try enroll(name) }
        func list(_ words: [String]) throws -> [String] {
            try bench.latch("audit", "list", "lock", words).output.split(separator: "\n").map(String.init)
        }
        let all = try list(["--limit", "0"])
        var pages: [String] = []
        var before: [String] = []
        while case let page = try list(["--limit", "2"] + before), let first = page.first {
            try #require(page.count <= 2 && pages.count < all.count)
            pages.insert(contentsOf: page, at: 0)
            before = ["--before", String(try #require(first.split(separator: " ").first))]
        }
        #expect(pages == all && all.count > 6)
        #expect(try list(["--limit", "0", "--before", "3"]) == Array(all.prefix(2)))
        #expect(try list(["--credential", "bert", "--limit", "1"]) == all.filter { $0.contains("bert") }.suffix(1))
        #expect(try list(["--credential", "nobody"]).isEmpty)
    }

    @Test("How far a long command has come is said in a line of its own")
    func progress() {
        #expect(ProgressLine.text("verify", 250_000, of: 1_000_000) == "verify: record 250000 of 1000000, 25 %")
        #expect(ProgressLine.text("verify", 0, of: 0) == "verify: record 0 of 0, 100 %")
        #expect(ProgressLine.text("verify", 7, of: 7) == "verify: record 7 of 7, 100 %")
        #expect(ProgressLine.text("verify", 9, of: 7) == "verify: record 9 of 7, 100 %")
    }

    @Test("A record that somebody took away, under the lock's key and under one that the file names")
    func tampered() throws {
        let key = try key()
        #expect(lock.end() == 0)
        let other = String(key.reversed())
        for (sql, given, fault) in [
            ("SELECT 1", other, "names another public key"),
            (
                "DROP TRIGGER lock_audit_is_never_shortened; DELETE FROM lock_audit WHERE sequence = 2", key,
                "records 2 to 2"
            ),
        ] {
            try execute(sql)
            let found = try bench.latch("audit", "verify", "lock", ["--public-key", given])
            #expect(found.status == 4 && found.output.contains(fault), "\(found)")
            #expect(found.errors.contains("latch.sqlite is not as the lock wrote it"), "\(found)")
        }
    }

    @Test("A record and a cut that cannot be read are named, and cost nothing of the others")
    func unreadable() throws {
        try enroll("anna")
        #expect(lock.end() == 0)
        let count = try bench.latch("audit", "list", "lock", ["--limit", "0"]).output.split(separator: "\n").count
        // An event that nobody knows, and a boot that is none.
        try execute(
            """
            DROP TRIGGER lock_audit_is_never_changed; UPDATE lock_audit SET event = x'FF' WHERE sequence = 2;
            UPDATE lock_audit SET boot = x'00' WHERE sequence = 3
            """)
        for words in [["--limit", "0"], ["--limit", "\(count)"]] {
            let list = try bench.latch("audit", "list", "lock", words)
            let lines = list.output.split(separator: "\n")
            #expect(list.status == 0 && lines.count == count, "\(list)")
            #expect(lines.filter { $0.contains("unreadable") }.count == 2, "\(list)")
            #expect(lines.contains { $0.contains("window_opened") }, "\(list)")
        }
        let json = try bench.latch("audit", "export", "lock", ["--to", "-"])
        #expect(json.status == 0, "\(json)")
        let damaged = json.output.split(separator: "\n").filter { $0.contains(#""what":"unreadable""#) }
        #expect(damaged.count == 2 && damaged[0].hasPrefix(#"{"record":2,"#) && damaged[0].contains(#""octets":"FF""#))
        #expect(json.output.contains("window_opened") && json.output.contains("{\"checkpoint\":"))
        let csv = try bench.latch("audit", "export", "lock", ["--to", "-", "--format", "csv"])
        #expect(csv.status == 0 && csv.output.split(separator: "\n").count == count + 1, "\(csv)")
        #expect(csv.output.contains("\n2,") && csv.output.contains(",unreadable,"), "\(csv)")
        let verified = try bench.latch("audit", "verify", "lock")
        #expect(verified.status == 4 && verified.output.contains("record 3 cannot be read"), "\(verified)")
        try bench.succeed("state", "rotate-key", "lock")
    }

    @Test(
        "wrong input: what is wrong, and what it may be",
        arguments: [
            (["verify", "--public-key", "12"], 2, "64 hexadecimal digits"),
            (["list", "--limit", "all"], 2, "a number from 0 to"),
            (["list", "--before", "0"], 2, "a number from 1 to"),
            (["export", "--to", "/nowhere/at/all"], 1, "cannot write /nowhere/at/all"),
            (["export", "--to", "-", "--format", "xml"], 2, "xml"),
            (["export"], 2, "--to"),
        ])
    func wrong(words: [String], status: Int32, message: String) throws {
        let found = try bench.latch("audit", words[0], "lock", Array(words.dropFirst()))
        #expect(found.status == status && found.errors.contains(message), "\(found)")
    }

    @Test("A directory without a database, and a database of before the signatures, are refused by name")
    func none() throws {
        let empty = try bench.latch("audit", "list", "key")
        #expect(empty.status == 4 && empty.errors.contains("key/latch.sqlite"), "\(empty)")
        #expect(lock.end() == 0)
        try execute("ALTER TABLE lock_state DROP COLUMN audit_signature")
        let older = try bench.latch("audit", "verify", "lock")
        #expect(older.status == 4 && older.errors.contains("no lock's audit of this version"), "\(older)")
    }

    private func execute(_ sql: String) throws {
        var handle: OpaquePointer?
        try #require(sqlite3_open(bench.path("lock/latch.sqlite"), &handle) == SQLITE_OK)
        #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        sqlite3_close(handle)
    }
}
