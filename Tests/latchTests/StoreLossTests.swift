import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

/// What a daemon told its peers must be on the medium, whatever became of an earlier flush, and by whatever name and under
/// whatever identifier another daemon comes to the same file.
@Suite("Daemons and what their disk keeps", .serialized)
struct StoreLossTests {
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
        #expect(try bench.latch("peripheral", "status", "lock").status == 0)
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
}
