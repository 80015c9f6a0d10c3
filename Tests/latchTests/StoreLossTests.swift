import CommandInterface
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

/// What a daemon told its peers must be on the medium, whatever became of an earlier flush, and by whatever name and under
/// whatever identifier another daemon comes to the same file.
@Suite("Daemons and what their disk keeps", .serialized)
struct StoreLossTests {
    /// A number that `text` has behind `name`, wherever that stands first.
    private static func number(_ name: String, in text: String) -> Int? {
        guard let place = text.range(of: name) else { return nil }
        return Int(text[place.upperBound...].prefix { $0.isNumber })
    }

    @Test("Failed flush: what the next life acknowledged is there after the cache is gone, and no counter goes back")
    func failedFlush() throws {
        let disk = try ThinDisk()
        let bench = try Bench()
        let state = "disk/lock"
        try #require(symlink(disk.path, bench.path("disk")) == 0 && mkdir(bench.path(state), 0o700) == 0)
        // The metal is not on the state's disk.
        let configuration = try bench.directory.write(
            "[lock]\nrelock_seconds = 0\nbolt_journal = \"\(bench.path("bolt.journal"))\"\n", to: "lock.conf")
        func launch() throws -> Daemon { try bench.start("peripheral", state, ["--config", configuration]) }
        /// The last record of the audit, and the bond's sign counter.
        func kept() throws -> (audit: Int, counter: Int) {
            let status = try bench.latch("peripheral", "status", state).output
            let bonds = try bench.latch("state", "inspect", state, ["--json"]).output
            return (
                try #require(Self.number("\n  last: ", in: status), "\(status)"),
                try #require(Self.number("\"remote_sign_counter\":", in: bonds), "\(bonds)")
            )
        }
        func command(_ number: Int, wait: [String] = []) throws -> Program.Outcome {
            try bench.latch("central", number % 2 == 0 ? "unlock" : "lock", "key", wait)
        }

        var lock = try launch()
        let key = try bench.start("central", "key")
        try bench.enroll("anna", at: state)
        for number in 0..<2 { #expect(try command(number).status == 0) }
        try disk.starve()
        // Until a commit needs a block that there is none of, and the lock ends.
        for number in 0..<100 where lock.isRunning { _ = try command(number, wait: ["--wait", "1"]) }
        try #require(!lock.isRunning, "the flush never failed")
        #expect(lock.end(signalling: false) == ExitCode.state.rawValue)
        #expect(lock.complaint.contains("input/output error"))
        try disk.feed()

        lock = try launch()
        for number in 0..<4 { #expect(try command(number).status == 0) }
        let acknowledged = try kept()
        #expect(lock.end() == 0)
        try disk.remount()

        lock = try launch()
        let found = try kept()
        #expect(found.audit >= acknowledged.audit)
        #expect(found.counter >= acknowledged.counter)
        #expect(try command(0).status == 0)
        #expect(try kept().counter > acknowledged.counter)
        #expect(lock.end() == 0)
        #expect(key.end() == 0)
        #expect(try bench.latch("state", "check", state).output.contains("faults: []"))
    }

    @Test(
        "Second lock on one database, under another identifier and from another directory: it is refused and changes nothing"
    )
    func twoOnOneDatabase() throws {
        let bench = try Bench()
        let first = try bench.start("peripheral", "lock")
        let configuration = try bench.directory.write(
            "machine_key = \"\(bench.path("lock/machine.key"))\"\n", to: "second.conf")
        try #require(symlink(bench.directory.path, bench.path("detour")) == 0)
        let before = try Data(contentsOf: URL(fileURLWithPath: bench.path("lock/latch.sqlite-wal")))
        for database in ["lock/latch.sqlite", "key/../lock/latch.sqlite", "detour/lock/latch.sqlite"] {
            let second = try Program.run(
                ["5", Program.path] + bench.arguments("peripheral", "key") + [
                    "--config", configuration, "--database", bench.path(database), "--restore-id", "another",
                ], of: "/usr/bin/timeout")
            #expect(second.status == ExitCode.state.rawValue)
            #expect(second.errorLines.count == 1)
            #expect(second.errors.contains("in use by process"), "\(second)")
            #expect(!second.errors.contains("identifier"), "it advises what does harm: \(second.errors)")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: bench.path("lock/latch.sqlite-wal"))) == before)
        try bench.succeed("peripheral", "status", "lock")
        #expect(first.end() == 0)
    }

    @Test("Two locks with one bolt: the second is refused")
    func twoOnOneBolt() throws {
        let bench = try Bench()
        let configuration = try bench.directory.write(
            "[lock]\nbolt_journal = \"\(bench.path("bolt"))\"\n", to: "lock.conf")
        let first = try bench.start("peripheral", "lock", ["--config", configuration])
        #expect(FileManager.default.fileExists(atPath: bench.path("bolt")))
        #expect(!FileManager.default.fileExists(atPath: bench.path("lock/bolt.journal")))
        let second = try Program.run(
            ["5", Program.path] + bench.arguments("peripheral", "key") + ["--config", configuration],
            of: "/usr/bin/timeout")
        #expect(second.status == ExitCode.state.rawValue)
        #expect(second.errors.contains("bolt_journal"), "\(second)")
        #expect(first.end() == 0)
    }

    @Test(
        "A line of the bolt's journal that cannot be read stops no launch: the daemon says so, and whether it knows the bolt",
        arguments: [true, false])
    func damagedJournal(isPositionKnown: Bool) throws {
        let bench = try Bench()
        let lines = isPositionKnown ? "1 5 7 3 - jump\n2 6 7 4 - lock\n" : "1 5 7 3 - lock\n2 6 7 4 - jump\n"
        let journal = bench.path("lock/bolt.journal")
        try #require(FileManager.default.createFile(atPath: journal, contents: Data(lines.utf8)))
        let daemon = try bench.start("peripheral", "lock")
        let status = try bench.latch("peripheral", "status", "lock")
        #expect(status.output.contains("bolt: \(isPositionKnown ? "locked" : "unknown")"), "\(status)")
        #expect(daemon.end() == 0)
        let said = daemon.complaint.split(separator: "\n").filter { $0.contains("bolt_journal_damaged") }
        #expect(said.count == 1 && said[0].contains("position_known=\(isPositionKnown)"), "\(daemon.complaint)")
    }

    @Test(
        "A file system that has no way around its cache: the lock runs, and says that nothing proves what its medium has",
        arguments: [true, false])
    func unproven(isMemory: Bool) throws {
        let bench = try Bench()
        // Its files are its cache.
        if isMemory { try #require(mount("ramfs", bench.path("lock"), "ramfs", 0, "mode=700") == 0) }
        defer { if isMemory { umount2(bench.path("lock"), Int32(MNT_DETACH)) } }
        #expect(try bench.start("peripheral", "lock").end() == 0)
        let second = try bench.start("peripheral", "lock")
        try bench.succeed("peripheral", "status", "lock")
        #expect(second.end() == 0)
        let said = second.complaint.split(separator: "\n").filter { $0.contains("medium_unproven") }
        #expect(said.count == (isMemory ? 1 : 0), "\(said)")
    }

    private static func page(_ name: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("docs/\(name)"), encoding: .utf8)
    }

    @Test("docs/PERSISTENCE.md names each file that the program makes, and restores to the one that it opens")
    func documentedNames() throws {
        let bench = try Bench()
        let daemon = try bench.start("peripheral", "lock")
        let made = try FileManager.default.contentsOfDirectory(atPath: bench.path("lock"))
        #expect(daemon.end() == 0)
        let database = URL(fileURLWithPath: try StateDirectory(bench.path("lock")).database).lastPathComponent
        let page = try Self.page("PERSISTENCE.md")
        let table = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let documented = table.flatMap { $0.split(separator: "|")[0].matches(of: /`([^`]+)`/).map { String($0.1) } }
        let kept = made.filter { $0.hasPrefix(database) || $0.hasSuffix(".key") || $0.hasSuffix(".anchor") }
        #expect(kept.count >= 7, "\(made)")
        for name in kept {
            #expect(
                documented.contains { $0 == name.replacing("peripheral", with: "…") }, "\(name) is not in the table")
        }
        for name in documented {
            #expect(name.hasPrefix(database) || kept.contains(name), "\(name) is not made")
        }
        let restored = page.matches(of: /install -m 0600 BACKUP ([^\s`]+)/).map { String($0.1) }
        #expect(restored == [database])
    }
}
