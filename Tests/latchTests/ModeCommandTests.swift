import Foundation
import Testing

@testable import latch

/// With a lock, a key and an operator, each a process.
@Suite("Daemons: modes and the factory reset", .serialized)
struct ModeCommandTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func mode(_ words: [String] = []) throws -> String {
        let outcome = try bench.latch("peripheral", "mode", "lock", words)
        return outcome.output + outcome.errors
    }

    @Test("Lockdown keeps a key out until it ends, and over a kill; passage opens and stays open; the audit has it all")
    func modes() throws {
        var lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        try bench.enroll("anna", role: "owner")
        #expect(try mode() == "normal\n")
        #expect(try mode(["--set", "lockdown"]) == "lockdown\n")
        #expect(try mode(["--set", "lockdown"]) == "lockdown already\n")
        lock.kill()
        lock = try bench.start("peripheral", "lock")
        #expect(try mode(["--json"]) == #"{"result":{"mode":"lockdown"}}"# + "\n")
        let refused = try bench.latch("central", "unlock", "key")
        #expect(refused.status != 0 && refused.errors.contains("mode forbids"), "\(refused)")
        #expect(try bench.latch("peripheral", "status", "lock").output.contains("mode: lockdown\n"))
        #expect(try mode(["--set", "passage"]) == "passage\n")
        #expect(
            try waits { try bench.latch("peripheral", "status", "lock").output.contains("bolt: unlocked\n") })
        let locked = try bench.latch("central", "lock", "key")
        #expect(locked.status != 0 && locked.errors.contains("mode forbids"), "\(locked)")
        #expect(try mode(["--set", "normal"]) == "normal\n")
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("bolt: locked\n") })
        try bench.succeed("central", "unlock", "key")
        #expect(lock.end() == 0 && key.end() == 0)
        let audit = try Program.run(["audit", "list", "--state", bench.path("lock")]).output
        #expect(
            audit.matches(of: /mode_changed.* mode=(\w+)/).map { $0.1 } == ["lockdown", "passage", "normal"], "\(audit)"
        )
    }

    @Test("A factory reset needs a word, removes everybody and leaves the audit")
    func reset() throws {
        let lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        try bench.enroll("anna", role: "owner")
        let unasked = try bench.latch("peripheral", "factory-reset", "lock")
        #expect(unasked.status == 2 && unasked.errors.contains("--yes"), "\(unasked)")
        #expect(try bench.roles() == ["owner"])
        #expect(try bench.latch("peripheral", "factory-reset", "lock", ["--yes"]).output == "1 credentials removed\n")
        #expect(try bench.roles() == [])
        #expect(try bench.latch("peripheral", "bonds", "lock", ["--json"]).output == #"{"result":{"bonds":[]}}"# + "\n")
        #expect(try bench.latch("central", "unlock", "key", ["--wait", "2"]).status != 0)
        let again = try bench.latch("peripheral", "factory-reset", "lock", ["--yes", "--json"])
        #expect(again.output == #"{"result":{"removed":0}}"# + "\n")
        #expect(lock.end() == 0 && key.end() == 0)
        let audit = try Program.run(["audit", "list", "--state", bench.path("lock")]).output
        // Who asked, once for both resets; and the end in order, behind them.
        #expect(
            audit.components(separatedBy: " operator ").count == 2 && audit.contains("user=\(getuid())"), "\(audit)")
        #expect(audit.components(separatedBy: "\n").dropLast().last?.contains(" stopped") == true, "\(audit)")
        #expect(audit.contains(" reset") && audit.contains("enrolled") && audit.contains("act=removed"), "\(audit)")
        #expect(try Program.run(["audit", "verify", "--state", bench.path("lock")]).status == 0)
    }
}
