import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

/// What a daemon told its peers must be on the medium, whatever became of an earlier flush, and by whatever name and under
/// whatever identifier another daemon comes to the same file.
@Suite("Daemons and what their disk keeps", .serialized)
struct StoreLossTests {
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
