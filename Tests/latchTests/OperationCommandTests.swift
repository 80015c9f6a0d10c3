import CommandInterface
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

/// With a lock and an operator, each a process.
@Suite("Daemons: the bolt by an operator's word", .serialized, .timeLimit(.minutes(30)))
struct OperationCommandTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    private func start(_ configuration: String) throws -> Daemon {
        let file = try bench.directory.write(configuration, to: "lock.conf")
        return try bench.start("peripheral", "lock", ["--config", file])
    }

    private func operate(_ operation: String, _ words: [String] = []) throws -> Program.Outcome {
        try bench.latch("peripheral", operation, "lock", words)
    }

    private func isLocked() throws -> Bool {
        try bench.latch("peripheral", "status", "lock").output.contains("bolt: locked\n")
    }

    @Test(
        "The bolt opens and goes back by itself, closes at once, and the audit has who asked; a kill changes nothing of it"
    )
    func operates() throws {
        var lock = try start("[lock]\nrelock_seconds = 1\n")
        #expect(try operate("unlock").output == "unlocked\n")
        #expect(try waits(isLocked))
        lock.kill()
        lock = try start("[lock]\nrelock_seconds = 3600\n")
        #expect(try isLocked())
        let told = try operate("unlock", ["--json"])
        #expect(told.status == 0, "\(told)")
        let lines = told.output.split(separator: "\n")
        #expect(lines.count == 2 && lines.first?.hasPrefix(#"{"event":"accepted","record":"#) == true, "\(told)")
        #expect(told.output.contains(#""outcome":"done","bolt":"unlocked","changed":true"#), "\(told)")
        #expect(try operate("unlock").output == "unlocked already\n")
        #expect(try operate("lock").output == "locked\n")
        #expect(try operate("lock").output == "locked already\n")
        #expect(lock.end() == 0)
        let audit = try Program.run(["audit", "list", "--state", bench.path("lock")]).output
        #expect(audit.contains(/operator +- +user=\d+\n/), "\(audit)")
        #expect(
            audit.matches(of: /operated +- +operation=(\w+)/).map { $0.1 } == [
                "unlock", "unlock", "unlock", "lock", "lock",
            ],
            "\(audit)")
        #expect(try Program.run(["audit", "verify", "--state", bench.path("lock")]).status == 0)
    }

    @Test("What the mode forbids is refused with the way out, and moves nothing")
    func refused() throws {
        let lock = try start("")
        try bench.succeed("peripheral", "mode", "lock", ["--set", "lockdown"])
        let refused = try operate("unlock")
        #expect(refused.status == ExitCode.refused.rawValue && refused.errorLines.count == 1, "\(refused)")
        #expect(refused.errors.contains("lockdown") && refused.errors.contains("`latch peripheral mode --set normal`"))
        #expect(try isLocked())
        try bench.succeed("peripheral", "mode", "lock", ["--set", "privacy"])
        #expect(try operate("unlock").status == 0)
        #expect(lock.end() == 0)
    }

    /// A bolt that opens when the test has written to its gate.
    private func gated() throws -> (configuration: String, gate: Int32) {
        let script = try bench.script(
            """
            cd "$(dirname "$0")"
            case "$1" in
            read) exit 20;;
            unlock) : > begun; read line < gate;;
            esac

            """, to: "bolt")
        try #require(mkfifo(bench.path("gate"), 0o600) == 0)
        return (
            "[bolt]\nactuator = \"exec\"\ncommand = \"\(script)\"\nretries = 0\ntimeout_ms = 9000\n",
            open(bench.path("gate"), O_RDWR)
        )
    }

    @Test("A second word that is refused while the bolt moves costs the first nothing: it hears how its own ended")
    func refusedMeanwhile() throws {
        let (configuration, gate) = try gated()
        defer { close(gate) }
        let lock = try start(configuration)
        let first = try ChildProcess(
            [Program.path] + bench.words("peripheral", "unlock", "lock"),
            environment: Program.environment, errors: .unheard)
        #expect(waits { FileManager.default.fileExists(atPath: bench.path("begun")) })
        for word in ["lock", "unlock"] {
            let busy = try operate(word)
            #expect(
                busy.status == ExitCode.refused.rawValue && busy.errors.contains("the bolt is moving"), "\(busy)")
        }
        #expect(write(gate, "x\n", 2) == 2)
        #expect(first.wait().code == 0)
        #expect(String(decoding: first.output.readDataToEndOfFile(), as: UTF8.self) == "unlocked\n")
        #expect(lock.end() == 0)
    }

    @Test("Before its radio was there once, the lock moves its bolt for an operator, and knows what it keeps")
    func beforeTheRadio() throws {
        bench.unplug()
        let lock = try Daemon(bench.arguments("peripheral", "lock"))
        #expect(try waits { try bench.latch("peripheral", "status", "lock").status == 0 })
        #expect(try operate("unlock").output == "unlocked\n")
        #expect(try operate("lock").output == "locked\n")
        try bench.succeed("peripheral", "mode", "lock", ["--set", "lockdown"])
        let unbound = try Program.run(["peripheral", "bonds", "delete", "--bond", "1", "--state", bench.path("lock")])
        #expect(unbound.errors.contains("there is no bond"), "\(unbound)")
        try bench.plug()
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("radio: on") })
        #expect(try operate("unlock").errors.contains("lockdown"))
        #expect(lock.end() == 0)
    }

    @Test("A bolt that jams is waited for and told; a wait that is over before says so, and the bolt goes on")
    func jams() throws {
        let script = try bench.script(
            """
            cd "$(dirname "$0")"
            case "$1" in
            read) exit 20;;
            unlock) [ -e slow ] && read line < gate; [ -e stone ] && exit 10; exit 0;;
            lock) exit 0;;
            esac

            """, to: "bolt")
        try #require(mkfifo(bench.path("gate"), 0o600) == 0)
        let gate = open(bench.path("gate"), O_RDWR)
        defer { close(gate) }
        let lock = try start(
            "[bolt]\nactuator = \"exec\"\ncommand = \"\(script)\"\nretries = 0\ntimeout_ms = 9000\n")
        for name in ["stone", "slow"] {
            #expect(FileManager.default.createFile(atPath: bench.path(name), contents: nil))
        }
        let late = try operate("unlock", ["--wait", "1"])
        #expect(late.status == ExitCode.unavailable.rawValue, "\(late)")
        let busy = try operate("lock")
        #expect(busy.status == ExitCode.refused.rawValue && busy.errors.contains("the bolt is moving"), "\(busy)")
        #expect(write(gate, "x\n", 2) == 2)
        unlink(bench.path("slow"))
        #expect(try waits(isLocked), "it was secured behind the jam")
        let jammed = try operate("unlock")
        #expect(jammed.status == ExitCode.refused.rawValue && jammed.errors.contains("the bolt is jammed"), "\(jammed)")
        #expect(lock.end() == 0)
    }
}
