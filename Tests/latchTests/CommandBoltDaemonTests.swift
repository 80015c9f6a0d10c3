import CommandInterface
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

@Suite("Daemons: a bolt that is a command", .serialized, .timeLimit(.minutes(30)))
struct CommandBoltDaemonTests {
    private static func script(_ bench: Bench, _ text: String) throws -> String {
        try bench.script("cd \"$(dirname \"$0\")\"\n" + text, to: "bolt")
    }

    private static func configuration(_ bench: Bench, _ bolt: String, lock: String = "") throws -> String {
        try bench.directory.write("[lock]\n\(lock)\n[bolt]\n\(bolt)\n", to: "lock.conf")
    }

    private static func text(_ bench: Bench, _ name: String) -> String {
        (try? String(contentsOfFile: bench.path(name), encoding: .utf8)) ?? ""
    }

    @Test("A command that cannot be one is refused at the start, with the file, the key and what to do")
    func unusable() throws {
        let bench = try Bench(withRadio: false)
        let good = try Self.script(bench, "exit 20")
        let open = try bench.directory.write("#!/bin/sh\n", to: "open")
        chmod(open, 0o722)
        let exec = "actuator = \"exec\"\n"
        for (bolt, key, problem, remedy) in [
            ("actuator = \"motor\"", "actuator", "cannot be that", "write one of \"simulated\", \"exec\", \"gpio\""),
            (exec, "command", "is wanted", "write the program's path"),
            ("command = \"\(good)\"", "command", "is for another actuator", "write actuator = \"exec\""),
            (exec + "command = \"bolt\"", "command", "cannot be that", "write the program's whole path"),
            (exec + "command = \"\(good) 'a b'\"", "command", "cannot be that", "write a script"),
            (exec + "command = \"\(good)\"\nretries = 4", "retries", "is out of range", "from 0 to 3"),
            (exec + "command = \"\(good)\"\ntimeout_ms = 99", "timeout_ms", "is out of range", "from 100 to 9000"),
            (
                exec + "command = \"\(good)\"\ntimeout_ms = 4500", "timeout_ms", "may take 10250 ms",
                "lower one of the three"
            ),
            (exec + "command = \"\(bench.path("none")) x\"", "command", "cannot be found", "install it"),
            (exec + "command = \"\(open)\"", "command", "can be changed by other users", "chmod go-w"),
        ] {
            let file = try Self.configuration(bench, bolt)
            let outcome = try Program.run(bench.arguments("peripheral", "lock") + ["--config", file])
            #expect(outcome.status == ExitCode.configuration.rawValue && outcome.errorLines.count == 1, "\(outcome)")
            for part in ["`\(key)`", problem, remedy, file] {
                #expect(outcome.errors.contains(part), "\(outcome.errors) lacks \(part)")
            }
        }
    }

    @Test("The command moves the bolt: it is asked where it is, opens, relocks, and a jam is tried again and told")
    func moves() throws {
        let bench = try Bench()
        let command = try Self.script(
            bench,
            """
            echo "$2" >> calls
            case "$2" in
            read) [ -e open ] && exit 21; exit 20;;
            unlock) touch open;;
            lock) [ -e stone ] && exit 10; rm open;;
            esac
            """)
        let file = try Self.configuration(
            bench, "actuator = \"exec\"\ncommand = \"\(command) front\"\nretry_pause_ms = 0", lock: "relock_seconds = 1"
        )
        let lock = try bench.start("peripheral", "lock", ["--config", file, "--journal", bench.path("journal")])
        let key = try bench.start("central", "key")
        try bench.enroll("anna")
        try bench.succeed("central", "unlock", "key")
        #expect(waits { Self.text(bench, "calls") == "read\nunlock\nlock\n" }, "\(Self.text(bench, "calls"))")
        _ = FileManager.default.createFile(atPath: bench.path("stone"), contents: nil)
        try bench.succeed("central", "unlock", "key")
        // The relock, tried twice, and the one attempt to recover from it, tried twice.
        let calls = "read\nunlock\nlock\nunlock\n" + String(repeating: "lock\n", count: 4)
        #expect(waits { Self.text(bench, "calls") == calls }, "\(Self.text(bench, "calls"))")
        #expect(waits { Self.text(bench, "journal").contains("\"jam\"") })
        #expect(Self.text(bench, "journal").contains("the bolt is jammed: it is tried again"))
        withExtendedLifetime(key) { #expect(lock.end() == 0) }
    }

    @Test("A relock falls due while somebody replaces the program: the door is locked when it is there again")
    func replaced() throws {
        let bench = try Bench()
        let command = try Self.script(
            bench,
            """
            echo "$1" >> calls
            case "$1" in
            read) [ -e open ] && exit 21; exit 20;;
            unlock) touch open;;
            lock) rm -f open;;
            esac
            """)
        let file = try Self.configuration(
            bench,
            "actuator = \"exec\"\ncommand = \"\(command)\"\nretries = 3\nretry_pause_ms = 1500\ntimeout_ms = 500",
            lock: "relock_seconds = 1")
        let lock = try bench.start("peripheral", "lock", ["--config", file, "--journal", bench.path("journal")])
        try bench.succeed("peripheral", "unlock", "lock")
        try #require(rename(command, command + ".away") == 0)
        #expect(waits { Self.text(bench, "journal").contains("it cannot be started") })
        try #require(rename(command + ".away", command) == 0)
        #expect(waits { Self.text(bench, "calls") == "read\nunlock\nlock\n" }, "\(Self.text(bench, "calls"))")
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("bolt: locked") })
        #expect(!Self.text(bench, "journal").contains("\"jam\""))
        #expect(lock.end() == 0)
    }

    @Test("Killed in the middle of an opening, the lock waits for its command's end and never begins it again")
    func killed() throws {
        let bench = try Bench()
        let command = try Self.script(
            bench,
            """
            echo "$1" >> calls
            case "$1" in
            read) [ -e open ] && exit 21; exit 20;;
            unlock) read line < gate; touch open;;
            lock) rm -f open;;
            esac
            """)
        try #require(mkfifo(bench.path("gate"), 0o600) == 0)
        let gate = open(bench.path("gate"), O_RDWR)
        defer { close(gate) }
        let file = try Self.configuration(
            bench, "actuator = \"exec\"\ncommand = \"\(command)\"\nretries = 0\ntimeout_ms = 9000",
            lock: "relock_seconds = 3600")
        let lock = try bench.start("peripheral", "lock", ["--config", file])
        let key = try bench.start("central", "key")
        try bench.enroll("anna")
        let asking = try Daemon(bench.words("central", "unlock", "key"))
        #expect(waits { Self.text(bench, "calls").hasSuffix("unlock\n") })
        lock.kill()
        // It is asked where the bolt is once nothing is at work at it.
        let next = try Daemon(bench.arguments("peripheral", "lock") + ["--config", file])
        #expect(Self.text(bench, "calls") == "read\nunlock\n")
        #expect(write(gate, "x\n", 2) == 2)
        #expect(waits { Self.text(bench, "calls") == "read\nunlock\nread\nread\n" }, "\(Self.text(bench, "calls"))")
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("bolt: unlocked") })
        withExtendedLifetime((key, asking)) { #expect(next.end() == 0) }
    }
}
