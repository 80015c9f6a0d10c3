import CommandInterface
import Foundation
import Glibc
import LockPersistence
import StatePersistence
import TestSupport
import Testing

@testable import latch

/// With a lock and a key, each a process, and an operator who gives the lock another machine key.
@Suite("latch state rotate-key", .serialized, .timeLimit(.minutes(30)))
struct KeyRotationCommandTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func octets(_ name: String) -> Data? { try? Data(contentsOf: URL(fileURLWithPath: bench.path(name))) }

    @Test(
        "The lock opens for the same keys behind it, in no doubt; the audit's key is another one; a running daemon is left alone"
    )
    func rotates() throws {
        var lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        try bench.enroll("anna", role: "owner")
        let running = try bench.latch("state", "rotate-key", "lock")
        #expect(
            running.status == ExitCode.state.rawValue && running.errors.contains("in use by process \(lock.pid)"),
            "\(running)")
        func auditKey() throws -> String {
            let status = try bench.latch("peripheral", "status", "lock").output
            return String(try #require(status.firstMatch(of: /audit_key: ([0-9A-F]{64})/)?.1))
        }
        let former = try auditKey()
        #expect(lock.end() == 0)
        let before = try #require(octets("lock/machine.key"))
        let done = try bench.latch("state", "rotate-key", "lock")
        #expect(done.status == 0 && done.output.contains("former_audit_key: \(former)"), "\(done)")
        #expect(octets("lock/machine.key") != before && octets("lock/machine.key.old-1") == before)
        #expect(octets("lock/machine.key.new") == nil && octets("lock/lock.anchor.new-key") == nil)
        lock = try bench.start("peripheral", "lock")
        #expect(try !bench.latch("peripheral", "status", "lock").output.contains("doubt:"))
        let now = try auditKey()
        #expect(now != former && done.output.contains("\naudit_key: \(now)\n"), "\(done)")
        for operation in ["unlock", "lock"] { try bench.succeed("central", operation, "key") }
        #expect(lock.end() == 0 && key.end() == 0)
        func verify(_ key: String) throws -> Int32 {
            try Program.run(["audit", "verify", "--state", bench.path("lock"), "--public-key", key]).status
        }
        #expect(try verify(now) == 0 && verify(former) != 0)
        // The key's own, too, which has no anchor.
        try bench.succeed("state", "rotate-key", "key")
        let (again, next) = (try bench.start("peripheral", "lock"), try bench.start("central", "key"))
        try bench.succeed("central", "unlock", "key")
        #expect(again.end() == 0 && next.end() == 0)
    }

    @Test(
        "The machine key and the anchor are looked for in the state directory that is named, wherever the database is")
    func databaseElsewhere() throws {
        try bench.makeRoom("other")
        let place = ["--database", bench.path("other/lock.sqlite")]
        #expect(try bench.start("peripheral", "lock", place).end() == 0)
        let before = try #require(octets("lock/machine.key"))
        let done = try bench.latch("state", "rotate-key", "lock", place)
        #expect(done.status == 0, "\(done)")
        #expect(octets("lock/machine.key.old-1") == before && octets("lock/machine.key") != before)
        let lock = try bench.start("peripheral", "lock", place)
        #expect(try !bench.latch("peripheral", "status", "lock").output.contains("doubt:"))
        #expect(lock.end() == 0)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: bench.path("other")).allSatisfy { !$0.contains("key") })
    }

    @Test(
        "No command reads the machine key before it has forbidden dumps", arguments: ["rotate-key", "restore", "check"])
    func undumpable(command: String) throws {
        #expect(try bench.start("peripheral", "lock").end() == 0)
        let copy = bench.path("copy")
        try bench.succeed("state", "backup", "lock", ["--to", copy])
        let words =
            switch command {
            case "check": bench.arguments("peripheral", "lock") + ["--check"]
            case "restore": ["state", command, "--state", bench.path("lock"), "--from", copy, "--yes"]
            default: ["state", command, "--state", bench.path("lock")]
            }
        let trace = bench.path("trace")
        let outcome = try Program.run(
            ["-f", "-o", trace, "-e", "trace=openat,prctl,prlimit64,setrlimit", Program.path] + words,
            of: "/usr/bin/strace")
        #expect(outcome.status == 0, "\(outcome)")
        let calls = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
        let reading = try #require(calls.firstIndex { $0.contains("lock/machine.key\"") && $0.contains("O_RDONLY") })
        let before = calls[..<reading]
        #expect(before.contains { $0.contains("PR_SET_DUMPABLE, SUID_DUMP_DISABLE") }, "\(command)")
        #expect(before.contains { $0.contains("RLIMIT_CORE, {rlim_cur=0, rlim_max=0}") }, "\(command)")
    }

    @Test("What is in doubt gets no other key, and a key that is not the database's changes nothing")
    func refused() throws {
        #expect(try bench.start("peripheral", "lock").end() == 0)
        let anchor = try #require(octets("lock/lock.anchor"))
        unlink(bench.path("lock/lock.anchor"))
        let doubted = try bench.latch("state", "rotate-key", "lock")
        #expect(doubted.status == ExitCode.refused.rawValue && doubted.errors.contains("--anchor"), "\(doubted)")
        try anchor.write(to: URL(fileURLWithPath: bench.path("lock/lock.anchor")))
        chmod(bench.path("lock/lock.anchor"), 0o600)
        let other = try bench.directory.write(String(repeating: "k", count: 32), to: "other.key")
        chmod(other, 0o600)
        let wrong = try bench.latch("state", "rotate-key", "lock", ["--machine-key", other])
        #expect(wrong.status == ExitCode.state.rawValue && wrong.errors.contains("another machine key"), "\(wrong)")
        #expect(try bench.start("peripheral", "lock").end() == 0)
    }

    @Test(
        "Killed at any call that changes a file: the database opens with exactly one of both keys, a launch finds it in no doubt, and the command ends it"
    )
    func killed() throws {
        let lock = try bench.start("peripheral", "lock")
        try bench.succeed("peripheral", "mode", "lock", ["--set", "privacy"])
        lock.kill()
        let files = FileManager.default
        let (place, saved, look) = (bench.path("lock"), bench.path("saved"), bench.path("look"))
        let components: [SchemaComponent] = [.host, .lock, .key]
        unlink(place + "/peripheral.sock")
        try files.copyItem(atPath: place, toPath: saved)
        func replace(_ target: String, by source: String) throws {
            if files.fileExists(atPath: target) { try files.removeItem(atPath: target) }
            try files.copyItem(atPath: source, toPath: target)
        }
        /// The keys that the database opens with, each on a copy: opening settles the log.
        func opening() throws -> [String] {
            try ["machine.key", "machine.key.new", "machine.key.old-1"].filter { name in
                guard files.fileExists(atPath: "\(place)/\(name)") else { return false }
                try replace(look, by: place)
                let key = try MachineKey.load(credentialsDirectory: nil, file: "\(place)/\(name)", mayCreate: false)
                return (try? StateStore(path: look + "/latch.sqlite", key: key, components: components)) != nil
            }
        }
        var kinds: Set<[String]> = []
        let kills = try Program.killed(
            at: [
                "rename", "unlink", "link", "fsync", "fdatasync", "ftruncate", "fchmod", "write", "pwrite64",
            ], ["state", "rotate-key", "--state", place]
        ) {
            try replace(place, by: saved)
        } check: { kill, isKilled in
            let keys = Set(try opening().map { try Data(contentsOf: URL(fileURLWithPath: "\(place)/\($0)")) })
            #expect(keys.count == 1, "\(kill)")
            kinds.insert(try opening())
            try replace(look, by: place)
            do {
                let state = try StateStore(
                    path: look + "/latch.sqlite", machineKeyFile: look + "/machine.key", credentialsDirectory: nil,
                    components: components)
                let seal = try LockSeal(state, anchor: FileAnchor(path: look + "/lock.anchor", keys: state.keys))
                #expect(seal.doubt == nil && seal.isTrusted, "\(kill): \(String(describing: seal.doubt))")
            }
            guard isKilled else { return }
            let again = try bench.latch("state", "rotate-key", "lock")
            #expect(again.status == 0, "\(kill): \(again)")
            #expect(try opening() == ["machine.key"], "\(kill)")
            let old = try files.contentsOfDirectory(atPath: place).filter { $0.hasPrefix("machine.key.old-") }
            #expect(!old.isEmpty && Set(old.map { octets("lock/\($0)") }).count == old.count, "\(kill): \(old)")
        }
        #expect(kills > 20 && kinds.contains(["machine.key.new"]), "\(kills) kills, \(kinds)")
    }
}
