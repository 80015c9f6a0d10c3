import CommandInterface
import Foundation
import TestSupport
import Testing

@testable import latch

/// Lock and key that keep their state together are for drills, and say so.
@Suite("What lock and key share")
struct RoleSharingTests {
    /// What a launch of this daemon says of it, and its end.
    private func said(_ bench: Bench, _ role: String, _ state: String, _ more: [String] = []) throws -> [Substring] {
        let daemon = try Daemon(
            bench.arguments(role, state, transport: "unix:" + bench.path("nobody"), logLevel: "warning") + more)
        #expect(try waits { try bench.latch(role, "status", state).status == 0 })
        #expect(daemon.end() == 0)
        return daemon.complaint.split(separator: "\n").filter { $0.contains("state_shared") }
    }

    @Test("a directory of both: the second says so, and from then on each, with the remedy")
    func directory() throws {
        let bench = try Bench(withRadio: false)
        #expect(try said(bench, "peripheral", "lock").isEmpty, "nobody else has been here")
        for (role, other) in [("central", "peripheral"), ("peripheral", "central")] {
            let lines = try said(bench, role, "lock")
            #expect(lines.count == 1, "\(lines)")
            let line = try #require(lines.first)
            #expect(line.contains("with=\(other) "))
            #expect(line.contains("database=\(bench.path("lock"))/latch.sqlite"))
            #expect(line.contains("directory=\(bench.path("lock")) "))
            #expect(line.contains("for drills"))
            #expect(line.contains("a user, a state directory and a machine key of its own"))
        }
    }

    @Test("a database of both in two directories: it is the database that is named")
    func database() throws {
        let bench = try Bench(withRadio: false)
        let file = bench.path("lock") + "/latch.sqlite"
        #expect(try said(bench, "peripheral", "lock").isEmpty)
        let key = bench.path("lock") + "/machine.key"
        let configuration = try bench.directory.write("machine_key = \"\(key)\"\n", to: "key.conf")
        let lines = try said(bench, "central", "key", ["--database", file, "--config", configuration])
        #expect(lines.count == 1 && lines[0].contains("database=\(file)"), "\(lines)")
        #expect(!lines.contains { $0.contains("directory=") })
        #expect(try said(bench, "peripheral", "lock").count == 1)
    }

    @Test("a state of one's own: nothing is said at any launch")
    func apart() throws {
        let bench = try Bench(withRadio: false)
        for _ in 0..<2 {
            #expect(try said(bench, "peripheral", "lock").isEmpty)
            #expect(try said(bench, "central", "key").isEmpty)
        }
    }
}
