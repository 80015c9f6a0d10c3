import CSQLite
import CommandInterface
import Foundation
import Glibc
import LockPersistence
import StatePersistence
import TestSupport
import Testing

@testable import latch

/// Backups as a timer makes them, and their way back, with real processes.
@Suite("latch state backup --keep, and restore", .serialized, .timeLimit(.minutes(30)))
struct StateRestoreTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func backup(_ words: [String] = []) throws -> Program.Outcome {
        try bench.latch("state", "backup", "lock", ["--to", bench.path("backups")] + words)
    }

    private func names(_ room: String) throws -> [String] {
        // Whoever looks at a file makes a lock beside it.
        try FileManager.default.contentsOfDirectory(atPath: bench.path(room)).filter { !$0.hasSuffix(".lock") }.sorted()
    }

    /// What is not whole yet, beside the lock's database.
    private func drafts() throws -> [String] { try names("lock").filter { $0.contains(".new") } }

    private func restore(_ file: String, _ words: [String] = ["--yes"]) throws -> Program.Outcome {
        try bench.latch("state", "restore", "lock", ["--from", file] + words)
    }

    /// The audit's last number in a database, running or not.
    private func lastRecord(of database: String? = nil) throws -> Int {
        let place = database.map { ["--database", $0] } ?? ["--state", bench.path("lock")]
        let lines = try Program.run(["audit", "list"] + place + ["--json", "--limit", "1"]).output
        return Int(try #require(lines.firstMatch(of: /"record":(\d+)/)).1) ?? 0
    }

    @Test(
        "Copies are numbered, sound and so many at most; nothing of another name is touched, and a failed one costs no other"
    )
    func rotation() throws {
        try bench.makeRoom("backups")
        let lock = try bench.start("peripheral", "lock")
        let mine = try bench.directory.write("mine", to: "backups/latch-old.sqlite")
        // As of a process that was killed.
        _ = try bench.directory.write("half", to: "backups/latch-000001.sqlite.new-12345")
        for number in 1...4 {
            let made = try backup(["--keep", "2", "--json"])
            #expect(made.status == 0 && made.output.contains("latch-00000\(number).sqlite"), "\(made)")
        }
        #expect(try names("backups") == ["latch-000003.sqlite", "latch-000004.sqlite", "latch-old.sqlite"])
        #expect(try String(contentsOfFile: mine, encoding: .utf8) == "mine")
        for name in try names("backups").prefix(2) {
            let check = try Program.run(["state", "check", "--database", bench.path("backups/\(name)")])
            #expect(check.status == 0 && check.output.contains("faults: []"), "\(check)")
        }
        #expect(try backup(["--keep", "1001"]).status == ExitCode.usage.rawValue)
        chmod(bench.path("backups"), 0o777)
        let open = try backup(["--keep", "1"])
        #expect(open.status == ExitCode.state.rawValue && open.errors.contains("chmod 0700"), "\(open)")
        chmod(bench.path("backups"), 0o700)
        #expect(lock.end() == 0)
        // A source that is none.
        try Data(repeating: 0x5A, count: 8_192).write(to: URL(fileURLWithPath: bench.path("lock/latch.sqlite")))
        chmod(bench.path("lock/latch.sqlite"), 0o600)
        #expect(try backup(["--keep", "1"]).status == ExitCode.state.rawValue)
        #expect(try names("backups") == ["latch-000003.sqlite", "latch-000004.sqlite", "latch-old.sqlite"])
    }

    @Test(
        "A backup comes back when the daemon is stopped and somebody has said so; what it replaces stays, and the lock is in doubt"
    )
    func restores() throws {
        try bench.makeRoom("backups")
        var lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        try bench.enroll("anna", role: "owner")
        #expect(try backup(["--keep", "3"]).status == 0)
        let copy = bench.path("backups/latch-000001.sqlite")
        try bench.succeed("peripheral", "remove", "lock", ["--credential", "anna"])

        let running = try restore(copy)
        #expect(
            running.status == ExitCode.state.rawValue && running.errors.contains("in use by process \(lock.pid)"),
            "\(running)")
        #expect(lock.end() == 0)
        let unasked = try restore(copy, [])
        #expect(unasked.status == ExitCode.usage.rawValue && unasked.errors.contains("--yes"), "\(unasked)")
        let before = try lastRecord()
        let done = try restore(copy, ["--yes", "--json"])
        #expect(done.status == 0 && done.output.contains(#""doubt":"older""#), "\(done)")
        #expect(
            done.output.contains(#""machine_key":"right""#) && done.output.contains("latch.sqlite.replaced-1"),
            "\(done)")
        let replaced = bench.path("lock/latch.sqlite.replaced-1")
        #expect(try lastRecord(of: replaced) == before && lastRecord() < before)
        #expect(try Program.run(["state", "check", "--database", replaced]).status == 0)

        lock = try bench.start("peripheral", "lock")
        #expect(try bench.latch("peripheral", "status", "lock").output.contains("doubt: older"))
        #expect(try bench.latch("central", "unlock", "key", ["--wait", "2"]).status != 0)
        #expect(try bench.latch("peripheral", "confirm", "lock").output == "confirmed\n")
        #expect(try bench.roles() == ["owner"])
        try bench.succeed("central", "unlock", "key")
        #expect(lock.end() == 0 && key.end() == 0)
    }

    @Test("What is no backup, or another machine's, changes nothing")
    func refused() throws {
        #expect(try bench.start("peripheral", "lock").end() == 0)
        #expect(try bench.start("peripheral", "key").end() == 0)
        let stranger = bench.path("stranger")
        try bench.succeed("state", "backup", "key", ["--to", stranger])
        let before = try Data(contentsOf: URL(fileURLWithPath: bench.path("lock/latch.sqlite")))
        let other = try restore(stranger)
        #expect(other.status == ExitCode.state.rawValue && other.errors.contains("another machine key"), "\(other)")
        let garbage = try bench.directory.write(String(repeating: "Z", count: 8_192), to: "garbage")
        chmod(garbage, 0o600)
        for file in [garbage, bench.path("none")] { #expect(try restore(file).status == ExitCode.state.rawValue) }
        #expect(try names("lock").contains { $0.contains("replaced") } == false)
        #expect(try Data(contentsOf: URL(fileURLWithPath: bench.path("lock/latch.sqlite"))) == before)
    }

    @Test("A database that is damaged makes way for its backup, and stays as it is under another name")
    func damaged() throws {
        #expect(try bench.start("peripheral", "lock").end() == 0)
        let copy = bench.path("copy")
        try bench.succeed("state", "backup", "lock", ["--to", copy])
        let (garbage, log) = (Data(repeating: 0x5A, count: 8_192), Data(repeating: 0xA5, count: 5_000))
        try log.write(to: URL(fileURLWithPath: bench.path("lock/latch.sqlite-wal")))
        unlink(bench.path("lock/latch.sqlite-shm"))
        try garbage.write(to: URL(fileURLWithPath: bench.path("lock/latch.sqlite")))
        chmod(bench.path("lock/latch.sqlite"), 0o600)
        chmod(bench.path("lock/latch.sqlite-wal"), 0o600)
        #expect(try restore(copy).status == 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: bench.path("lock/latch.sqlite.replaced-1"))) == garbage)
        // What its log had may be all that can be read of it; for the backup it is nothing.
        #expect(try Data(contentsOf: URL(fileURLWithPath: bench.path("lock/latch.sqlite.replaced-1-wal"))) == log)
        #expect(try !names("lock").contains("latch.sqlite-wal"))
        #expect(try bench.start("peripheral", "lock").end() == 0)
    }

    @Test(
        "Killed at any call that changes a file: the database that was there or the backup's, whole, and the command can be given again"
    )
    func killed() throws {
        #expect(try bench.start("peripheral", "lock").end() == 0)
        let copy = bench.path("copy")
        try bench.succeed("state", "backup", "lock", ["--to", copy])
        let older = try lastRecord()
        // Another end of the audit in the file, and one more in its log.
        #expect(try bench.start("peripheral", "lock").end() == 0)
        let inFile = try lastRecord()
        let lock = try bench.start("peripheral", "lock")
        try bench.succeed("peripheral", "unlock", "lock")
        lock.kill()
        let newer = try lastRecord()
        #expect(older < inFile && inFile < newer)
        unlink(bench.path("lock/peripheral.sock"))
        try FileManager.default.copyItem(atPath: bench.path("lock"), toPath: bench.path("saved"))
        var seen: Set<Int> = []
        let kills = try Program.killed(
            at: ["rename", "unlink", "link", "fsync", "fdatasync", "ftruncate"],
            ["state", "restore", "--state", bench.path("lock"), "--from", copy, "--yes"]
        ) {
            try FileManager.default.removeItem(atPath: bench.path("lock"))
            try FileManager.default.copyItem(atPath: bench.path("saved"), toPath: bench.path("lock"))
        } check: { place, isKilled in
            let found = try lastRecord()
            #expect(found == older || isKilled && found == newer, "\(place): \(found)")
            let check = try bench.latch("state", "check", "lock")
            #expect(check.status == 0, "\(place): \(check)")
            seen.insert(found)
            guard found == newer else { return }
            #expect(try restore(copy).status == 0, "\(place)")
            #expect(try lastRecord() == older, "\(place)")
            #expect(try drafts().isEmpty, "\(place)")
        }
        #expect(kills > 20 && seen == [older, newer], "\(kills) kills")
    }

    private func execute(_ sql: String) throws {
        var handle: OpaquePointer?
        try #require(sqlite3_open(bench.path("lock/latch.sqlite"), &handle) == SQLITE_OK)
        #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        sqlite3_close(handle)
    }

    /// Whether a launch opens what there is.
    private func opens() -> Bool {
        let state = try? StateStore(
            path: bench.path("lock/latch.sqlite"), machineKeyFile: bench.path("lock/machine.key"),
            credentialsDirectory: nil, components: [.host, .lock, .key])
        return state != nil
    }

    /// Of what restores have put aside: the databases, without their logs.
    private func putAside() throws -> [String] {
        try names("lock").filter { $0.wholeMatch(of: /latch\.sqlite\.replaced-[0-9]+/) != nil }
    }

    @Test(
        "Killed at any call over a database with a fault that a launch does not see: no launch reads it without its log, and the log is kept"
    )
    func killedOverFault() throws {
        #expect(try bench.start("peripheral", "lock").end() == 0)
        let copy = bench.path("copy")
        try bench.succeed("state", "backup", "lock", ["--to", copy])
        let older = try lastRecord()
        // A row without its parent: no copy of that is a backup, and every launch opens it.
        try execute("INSERT INTO host_scan (restoration, allow_duplicates) VALUES (4711, 0)")
        let lock = try bench.start("peripheral", "lock")
        try bench.succeed("peripheral", "unlock", "lock")
        lock.kill()
        let newer = try lastRecord()
        #expect(older < newer)
        unlink(bench.path("lock/peripheral.sock"))
        try FileManager.default.copyItem(atPath: bench.path("lock"), toPath: bench.path("saved"))
        var refusals = 0
        let kills = try Program.killed(
            at: ["rename", "unlink", "link", "fsync"],
            ["state", "restore", "--state", bench.path("lock"), "--from", copy, "--yes"]
        ) {
            try FileManager.default.removeItem(atPath: bench.path("lock"))
            try FileManager.default.copyItem(atPath: bench.path("saved"), toPath: bench.path("lock"))
        } check: { place, isKilled in
            if opens() {
                let found = try lastRecord()
                #expect(found == older || isKilled && found == newer, "\(place): \(found)")
            } else {
                refusals += 1
                #expect(isKilled, "\(place)")
            }
            if isKilled { #expect(try restore(copy).status == 0, "\(place)") }
            #expect(opens(), "\(place)")
            #expect(try lastRecord() == older, "\(place)")
            if isKilled { #expect(try drafts().isEmpty, "\(place)") }
            let kept = try putAside().map { try lastRecord(of: bench.path("lock/\($0)")) }
            #expect(kept.contains(newer), "\(place): \(kept)")
        }
        #expect(kills > 10 && refusals > 0, "\(kills) kills, \(refusals) refusals")
    }

    @Test("Killed at any call where the log alone is left: no launch begins without it, and it stays beside the backup")
    func logAlone() throws {
        #expect(try bench.start("peripheral", "lock").end() == 0)
        let copy = bench.path("copy")
        try bench.succeed("state", "backup", "lock", ["--to", copy])
        let older = try lastRecord()
        let lock = try bench.start("peripheral", "lock")
        try bench.succeed("peripheral", "unlock", "lock")
        lock.kill()
        unlink(bench.path("lock/peripheral.sock"))
        for ending in ["", "-shm"] { unlink(bench.path("lock/latch.sqlite") + ending) }
        let log = try Data(contentsOf: URL(fileURLWithPath: bench.path("lock/latch.sqlite-wal")))
        try #require(!log.isEmpty)
        try FileManager.default.copyItem(atPath: bench.path("lock"), toPath: bench.path("saved"))
        let kills = try Program.killed(
            at: ["rename", "unlink", "link", "fsync"],
            ["state", "restore", "--state", bench.path("lock"), "--from", copy, "--yes"]
        ) {
            try FileManager.default.removeItem(atPath: bench.path("lock"))
            try FileManager.default.copyItem(atPath: bench.path("saved"), toPath: bench.path("lock"))
        } check: { place, isKilled in
            if opens() { #expect(try lastRecord() == older, "\(place)") } else { #expect(isKilled, "\(place)") }
            if isKilled { #expect(try restore(copy).status == 0, "\(place)") }
            #expect(opens(), "\(place)")
            #expect(try lastRecord() == older, "\(place)")
            let kept = try names("lock").filter { $0.contains(".replaced-") && $0.hasSuffix("-wal") }
                .map { try Data(contentsOf: URL(fileURLWithPath: bench.path("lock/\($0)"))) }
            #expect(kept == [log], "\(place)")
        }
        #expect(kills > 10, "\(kills) kills")
    }

    @Test("A backup's name that begins as a URI does is a name all the same")
    func namedLikeURI() throws {
        #expect(try bench.start("peripheral", "lock").end() == 0)
        try bench.makeRoom("room")
        let made = try Program.run(
            [
                "-c",
                "cd \(bench.path("room")) && exec \(Program.path) state backup --state \(bench.path("lock")) --to file:x",
            ], of: "/bin/sh")
        #expect(made.status == 0, "\(made)")
        #expect(try names("room") == ["file:x"])
    }

    @Test("The machine key is looked for in the state directory that is named, wherever the database is")
    func databaseElsewhere() throws {
        try bench.makeRoom("other")
        let place = bench.path("other/lock.sqlite")
        let lock = try bench.start("peripheral", "lock", ["--database", place])
        let copy = bench.path("copy")
        try bench.succeed("state", "backup", "lock", ["--database", place, "--to", copy])
        #expect(lock.end() == 0)
        let done = try restore(copy, ["--database", place, "--yes", "--json"])
        #expect(done.status == 0 && done.output.contains(#""machine_key":"right""#), "\(done)")
    }
}
