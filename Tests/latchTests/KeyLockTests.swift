import CommandInterface
import Foundation
import TestSupport
import Testing

@testable import latch

/// What a person does with the locks of a key.
@Suite("Daemons: the locks of a key", .serialized)
struct KeyLockTests {
    private func key(_ bench: Bench, _ words: String...) throws -> Program.Outcome {
        try bench.latch("central", words[0], "key", Array(words.dropFirst()))
    }

    @Test(
        "Each operation and each time of a relock comes to the lock as it was asked for, and a guest may not hold open")
    func operations() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        let daemon = try bench.start("central", "key")
        try bench.enroll("anna")
        func bolt() throws -> String {
            let text = try bench.latch("peripheral", "status", "lock").output
            return text.split(separator: "\n").first { $0.hasPrefix("bolt: ") }.map { String($0.dropFirst(6)) } ?? ""
        }
        #expect(try key(bench, "unlock", "--relock", "1").status == 0)
        #expect(
            try bolt() == "unlocked" && waits { try bolt() == "locked" }, "a second, and not the ten of the setting")
        #expect(try key(bench, "unlock", "--hold-open").output.contains("outcome: done"))
        #expect(try key(bench, "lock-and-go", "--relock", "1").status == 0)
        #expect(try waits { try bolt() == "locked" })
        #expect(try key(bench, "unlatch").output.contains("outcome: done"))
        #expect(try key(bench, "lock").status == 0)
        for wrong in [
            ["unlock", "--relock", "0"], ["unlock", "--relock", "255"], ["unlock", "--relock", "5", "--hold-open"],
            ["lock", "--relock", "5"], ["unlatch", "--hold-open"], ["lock-and-go", "--hold-open"],
        ] {
            let outcome = try bench.latch("central", wrong[0], "key", Array(wrong.dropFirst()))
            #expect(outcome.status == ExitCode.usage.rawValue && outcome.errorLines.count == 1, "\(wrong): \(outcome)")
        }
        let audit = try bench.latch("audit", "list", "lock", ["--json"]).output
        for word in ["lock-and-go", "unlatch"] { #expect(audit.contains(word), "\(word)") }

        try bench.makeRoom("guest")
        let guest = try bench.start("central", "guest")
        try bench.enroll("gus", role: "guest", by: "guest")
        let held = try bench.latch("central", "unlock", "guest", ["--hold-open"])
        #expect(held.status == ExitCode.refused.rawValue && held.errors.contains("not permitted"), "\(held)")
        #expect(try bolt() == "locked")
        #expect(guest.end() == 0 && daemon.end() == 0 && lock.end() == 0)
    }

    @Test("Who breaks a command off before it was sent takes it back; a daemon that ends, and starts again, does not")
    func brokenOff() throws {
        let bench = try Bench()
        var lock = try bench.start("peripheral", "lock")
        var daemon = try bench.start("central", "key")
        try bench.enroll("anna")
        #expect(lock.end() == 0)
        func isAsked() throws -> Bool {
            try bench.latch("central", "status", "key", ["--json"]).output.contains(#""request":{"#)
        }
        func asks(_ more: String...) throws -> ChildProcess {
            let client = try ChildProcess(
                [Program.path] + bench.words("central", "unlock", "key", more),
                environment: Program.environment)
            #expect(try client.output.read(upToCount: 5) == Data("asked".utf8))
            return client
        }
        let gone = try asks()
        #expect(try isAsked())
        gone.signal(SIGINT)
        gone.wait()
        #expect(try waits { try !isAsked() })

        let kept = try asks()
        #expect(daemon.end() == 0 && kept.wait().code != 0)
        daemon = try bench.start("central", "key")
        #expect(try isAsked())
        lock = try bench.start("peripheral", "lock")
        #expect(try waits { try !isAsked() })
        let audit = try bench.latch("audit", "list", "lock", ["--json"]).output.split(separator: "\n")
        #expect(audit.count { $0.contains("\"what\":\"granted\"") } == 1, "\(audit)")
        #expect(daemon.end() == 0 && lock.end() == 0)
    }

    @Test("A lock has the name that its key's owner gives it, for good; no two have the same")
    func renamed() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        var daemon = try bench.start("central", "key")
        try bench.enroll("anna")
        let first = try #require(try name(bench))
        #expect(try key(bench, "rename", "--lock", first, "--name", "Front door").output == "\(first): Front door\n")
        #expect(try key(bench, "rename", "--lock", "Front door", "--name", "Front door").output.hasSuffix(" already\n"))
        daemon.kill()
        daemon = try bench.start("central", "key")
        #expect(try key(bench, "unlock", "--lock", "Front door").status == 0)
        let unknown = try key(bench, "rename", "--lock", first, "--name", "Back door")
        #expect(unknown.errors.contains("no lock is called") && unknown.errors.contains("Front door"), "\(unknown)")
        let long = try key(bench, "rename", "--lock", "Front door", "--name", String(repeating: "x", count: 65))
        #expect(long.status == ExitCode.refused.rawValue && long.errors.contains("64 octets"), "\(long)")
        let cursor = try key(bench, "rename", "--lock", "Front door", "--name", "Shed\u{1b}[2J")
        #expect(cursor.status == ExitCode.refused.rawValue && cursor.errors.contains("one line"), "\(cursor)")

        try bench.makeRoom("shed")
        let shed = try bench.start("peripheral", "shed")
        try bench.enroll("anna", at: "shed")
        let second = try #require(try names(bench).first { $0 != "Front door" })
        let taken = try key(bench, "rename", "--lock", second, "--name", "Front door")
        #expect(taken.status == ExitCode.refused.rawValue && taken.errors.contains("another lock"), "\(taken)")
        #expect(try names(bench).sorted() == ["Front door", second].sorted())
        #expect(shed.end() == 0 && daemon.end() == 0 && lock.end() == 0)
    }

    @Test("A lock is called as it calls itself, a second one of that name has a number, and a user's name stays")
    func named() throws {
        let bench = try Bench()
        try bench.makeRoom("shed")
        let lock = try bench.start("peripheral", "lock")
        let shed = try bench.start("peripheral", "shed")
        let daemon = try bench.start("central", "key")
        try bench.enroll("anna")
        try bench.enroll("anna", at: "shed")
        #expect(try names(bench) == ["Latch", "Latch 2"])
        #expect(try key(bench, "rename", "--lock", "Latch 2", "--name", "Shed").output == "Latch 2: Shed\n")
        try bench.enroll("anna", at: "shed")
        #expect(try names(bench) == ["Latch", "Shed"])
        #expect(shed.end() == 0 && daemon.end() == 0 && lock.end() == 0)
    }

    @Test(
        "A program with a key of its own opens by that, also when both daemons were killed, and enrols with a code of its own"
    )
    func program() throws {
        let bench = try Bench()
        var lock = try bench.start("peripheral", "lock")
        var daemon = try bench.start("central", "key")
        let window = try Window(["--state", bench.path("lock"), "--credential", "anna", "--method", "program"])
        let code = try window.code()
        #expect(code.hasPrefix("LATCH2:"))
        #expect(try bench.latch("central", "enroll", "key", ["-"], input: code).status == 0 && window.end() == 0)
        for _ in 0..<2 {
            #expect(try key(bench, "unlock").output.contains("outcome: done"))
            daemon.kill()
            lock.kill()
            lock = try bench.start("peripheral", "lock")
            daemon = try bench.start("central", "key")
        }
        let audit = try bench.latch("audit", "list", "lock", ["--json"]).output.split(separator: "\n")
        let counters = audit.filter { $0.contains("\"what\":\"granted\"") }.compactMap { line in
            line.firstMatch(of: /"counter":([0-9]+)/).flatMap { Int($0.1) }
        }
        #expect(counters.count == 2 && counters[0] < 64 && counters[1] >= 64, "\(audit)")
        #expect(daemon.end() == 0 && lock.end() == 0)
    }

    @Test("A key whose database is an older one signs its second command again, behind all counters that it has used")
    func putBack() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        var daemon = try bench.start("central", "key")
        try bench.enroll("anna")
        try bench.succeed("state", "backup", "key", ["--to", bench.path("old")])
        for _ in 0..<3 { #expect(try key(bench, "unlock").status == 0) }
        #expect(daemon.end() == 0)
        try bench.succeed("state", "restore", "key", ["--from", bench.path("old"), "--yes"])
        daemon = try bench.start("central", "key")
        for _ in 0..<2 { #expect(try key(bench, "unlock").status == 0) }
        let audit = try bench.latch("audit", "list", "lock", ["--json"]).output.split(separator: "\n")
        let counters = audit.filter { $0.contains("\"what\":\"granted\"") }.map { line in
            line.firstMatch(of: /"counter":([0-9]+)/).map { String($0.1) } ?? "encrypted"
        }
        #expect(counters == ["0", "1", "2", "encrypted", "3"], "\(audit)")
        #expect(daemon.end() == 0 && lock.end() == 0)
    }

    @Test(
        "A lock that is forgotten is neither waited for nor opened, also by the next process; its lock is told nothing")
    func forgotten() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        var daemon = try bench.start("central", "key")
        try bench.enroll("anna")
        let name = try #require(try name(bench))
        #expect(try key(bench, "forget", "--lock", name).errors.contains("give `--yes`"))
        #expect(try key(bench, "forget", "--lock", "nobody's", "--yes").errors.contains("no lock is called"))
        #expect(try names(bench) == [name])
        func hasBond() throws -> Bool {
            try bench.latch("state", "inspect", "key", ["--json"]).output.contains("\"remote_sign_counter\":")
        }
        #expect(try hasBond())
        #expect(try key(bench, "forget", "--lock", name, "--yes").output == "\(name): forgotten\n")
        for _ in 0..<2 {
            #expect(try names(bench) == [])
            let none = try key(bench, "unlock")
            #expect(none.status == ExitCode.refused.rawValue && none.errors.contains("no lock is enrolled"), "\(none)")
            daemon.kill()
            daemon = try bench.start("central", "key")
        }
        #expect(try bench.latch("peripheral", "status", "lock").output.contains("name: anna"))
        #expect(try !hasBond())
        try bench.enroll("anna")
        #expect(try key(bench, "unlock").status == 0)
        #expect(daemon.end() == 0 && lock.end() == 0)
    }

    private func names(_ bench: Bench) throws -> [String] {
        let text = try bench.latch("central", "status", "key", ["--json"]).output
        let status = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        let result = status?["result"] as? [String: Any]
        return (result?["locks"] as? [[String: Any]] ?? []).compactMap { $0["name"] as? String }
    }

    private func name(_ bench: Bench) throws -> String? { try names(bench).first }
}
