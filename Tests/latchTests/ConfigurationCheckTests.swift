import CommandInterface
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

@Suite("run --check", .serialized)
struct ConfigurationCheckTests {
    private let bench: Bench

    init() throws { bench = try Bench(withRadio: false) }

    private func check(_ text: String, _ words: [String] = [], role: String = "peripheral") throws -> Program.Outcome {
        let file = try bench.directory.write(text, to: "daemon.conf")
        return try Program.run([role, "run", "--config", file, "--check"] + words)
    }

    private func names(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }

    @Test("A file without a fault is status 0, and nothing is made by looking", arguments: ["peripheral", "central"])
    func sound(role: String) throws {
        let state = bench.path(role == "peripheral" ? "lock" : "key")
        let text = "transport = \"unix:\(bench.path("air"))\"\nstate = \"\(state)\"\n"
        let outcome = try check(text, role: role)
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
        #expect(outcome.output == "nothing is wrong with \(bench.path("daemon.conf"))\n")
        #expect(try names(state).isEmpty)
        #expect(try check(text, ["--json"], role: role).output == #"{"result":{"faults":[]}}"# + "\n")
    }

    @Test("Every fault is told, each with the file or the key and what to do, and none hides another")
    func faults() throws {
        let open = try bench.directory.write("#!/bin/sh\n", to: "open")
        chmod(open, 0o722)
        let key = try bench.directory.write("short", to: "machine.key")
        chmod(key, 0o600)
        chmod(bench.path("lock"), 0o755)
        let text = """
            transport = "hci:x"
            state = "\(bench.path("lock"))"
            machine_key = "\(key)"
            [lock]
            relok_seconds = 5
            challenge_life_ms = 1
            bolt_journal = "\(bench.path("none"))/bolt.journal"
            [door]
            exit =
            [bolt]
            actuator = "exec"
            [alarms]
            hook = "\(open)"
            [control]
            socket = "/\(String(repeating: "x", count: 120))"
            [log]
            capture = "\(bench.path("none"))/capture"
            """
        let outcome = try check(text)
        #expect(outcome.status == ExitCode.configuration.rawValue && outcome.output.isEmpty, "\(outcome)")
        let file = bench.path("daemon.conf")
        let expected = [
            ["`relok_seconds`", "\(file) line 5 column 1", "did you mean `relock_seconds`?"],
            ["`challenge_life_ms`", "\(file) line 6", "from 1000 to 25500"], ["`exit`", "\(file) line 9", "write"],
            ["`command` in section [bolt]", file, "write the program's path"],
            ["`hook` in section [alarms]", file, "chmod go-w"], ["hci:x", "hci:N"],
            ["state directory \(bench.path("lock"))", "chmod 0700"], [key, "32 octets"], ["107 octets"],
            ["`capture`", "\(bench.path("none"))"], ["`bolt_journal`", "\(bench.path("none"))"],
        ]
        #expect(outcome.errorLines.count == expected.count, "\(outcome.errors)")
        for parts in expected {
            #expect(
                outcome.errorLines.contains { line in parts.allSatisfy { line.contains($0) } },
                "\(parts) \(outcome.errors)")
        }
        let told = try check(text, ["--json"])
        #expect(
            told.status == ExitCode.configuration.rawValue
                && told.output.hasPrefix(#"{"result":{"faults":["unknown key"#), "\(told)")
        chmod(bench.path("lock"), 0o700)
        #expect(try names(bench.path("lock")).isEmpty)
    }

    @Test("A program that others could change, and thresholds too near each other, are both told of a key")
    func approach() throws {
        let script = try bench.directory.write("#!/bin/sh\n", to: "agree")
        chmod(script, 0o777)
        func text(_ program: String) -> String {
            """
            transport = "unix:\(bench.path("air"))"
            state = "\(bench.path("key"))"
            [proximity]
            program = "\(program)"
            near_dbm = -70
            away_dbm = -71
            """
        }
        let outcome = try check(text(script), role: "central")
        #expect(outcome.status == ExitCode.configuration.rawValue && outcome.errorLines.count == 2, "\(outcome)")
        #expect(outcome.errors.contains("`program` in section [proximity]") && outcome.errors.contains("chmod go-w"))
        #expect(outcome.errors.contains("`near_dbm` and `away_dbm`"))
        let relative = try check(text("agree"), role: "central")
        #expect(relative.errors.contains("`program`") && relative.errors.contains("whole path"), "\(relative)")
    }

    @Test("Every fault of the bolt's section is told, and not its first alone")
    func bolt() throws {
        let script = try bench.directory.write("#!/bin/sh\n", to: "bolt")
        chmod(script, 0o622)
        let outcome = try check(
            """
            transport = "unix:\(bench.path("air"))"
            state = "\(bench.path("lock"))"
            [bolt]
            actuator = "exec"
            command = "\(script) front"
            timeout_ms = 9000
            retries = 3
            """)
        #expect(outcome.status == ExitCode.configuration.rawValue && outcome.errorLines.count == 3, "\(outcome)")
        for (line, parts) in zip(
            outcome.errorLines,
            [
                ["`timeout_ms` in section [bolt]", "lower one of the three"],
                ["`command` in section [bolt]", "may not be executed", "chmod a+x"],
                ["`command` in section [bolt]", "can be changed by other users", "chmod go-w"],
            ])
        {
            for part in parts { #expect(line.contains(part), "\(line)") }
        }
        let bare = try check(
            """
            transport = "unix:\(bench.path("air"))"
            state = "\(bench.path("lock"))"
            [bolt]
            actuator = "exec"
            timeout_ms = 9000
            """)
        #expect(bare.errorLines.count == 2, "\(bare)")
        #expect(bare.errors.contains("`command`") && bare.errors.contains("`timeout_ms`"), "\(bare)")
    }

    @Test("Each place that a launch could not use is told, with what it is for and what to do; what comes later is not")
    func places() throws {
        let bench = try Bench()
        #expect(try bench.start("peripheral", "lock").end() == 0)
        let (plain, none) = (try bench.directory.write("x", to: "plain"), bench.path("none"))
        chmod(plain, 0o644)
        func outcome(_ transport: String, _ lines: String) throws -> Program.Outcome {
            try check("transport = \"\(transport)\"\nstate = \"\(bench.path("lock"))\"\n\(lines)\n")
        }
        let air = "unix:" + bench.path("air")
        for (transport, lines, parts) in [
            ("serial:\(plain)", "", ["`transport`", plain, "is no serial line", "name a device"]),
            (air, "anchor = \"\(plain)\"", [plain, "chmod 0600"]),
            (air, "anchor = \"\(none)/lock.anchor\"", ["`anchor`", "there is no directory \(none)", "make it"]),
            (air, "machine_key = \"\(none)\"", ["the machine key is missing", none]),
            (air, "[control]\nsocket = \"\(none)/s\"", ["control socket", "there is no directory \(none)", "make it"]),
            (air, "[metrics]\nfile = \"\(none)/m.prom\"", ["`file`", "there is no directory \(none)", "make it"]),
            (air, "[metrics]\nfile = \"\(plain)/m.prom\"", ["`file`", "there is no directory \(plain)"]),
        ] {
            let refused = try outcome(transport, lines)
            #expect(
                refused.status == ExitCode.configuration.rawValue && refused.errorLines.count == 1,
                "\(lines) \(refused)")
            for part in parts { #expect(refused.errors.contains(part), "\(part): \(refused)") }
        }
        // A controller is waited for, and the directories below /run are the service manager's to make.
        for (transport, lines) in [
            ("serial:\(none)", ""), ("serial:/dev/null", ""),
            (air, "[control]\nsocket = \"/run/\(UUID())/s\""), (air, "[metrics]\nfile = \"/run/\(UUID())/m.prom\""),
        ] {
            let taken = try outcome(transport, lines)
            #expect(taken.status == 0, "\(lines) \(taken)")
        }
    }

    @Test("A file that cannot be read, and one that names no daemon, are told")
    func missing() throws {
        let gone = try Program.run(["peripheral", "run", "--config", bench.path("gone.conf"), "--check"])
        #expect(gone.status == ExitCode.configuration.rawValue && gone.errors.contains("cannot be read"), "\(gone)")
        let empty = try check("")
        #expect(empty.status == ExitCode.configuration.rawValue && empty.errorLines.count == 2, "\(empty)")
        #expect(empty.errors.contains("`--transport ADDRESS`") && empty.errors.contains("`--state DIR`"))
    }

    @Test("What the launch would refuse of a database and its key is told, and a daemon that runs is not disturbed")
    func running() throws {
        let bench = try Bench()
        let file = try bench.directory.write(
            "transport = \"unix:\(bench.path("air"))\"\nstate = \"\(bench.path("lock"))\"\n", to: "lock.conf")
        let lock = try bench.start("peripheral", "lock")
        #expect(try Program.run(["peripheral", "run", "--config", file, "--check"]).status == 0)
        #expect(lock.end() == 0)
        chmod(bench.path("lock") + "/machine.key", 0o640)
        link(bench.path("lock") + "/latch.sqlite", bench.path("lock") + "/other")
        let outcome = try Program.run(["peripheral", "run", "--config", file, "--check"])
        #expect(outcome.status == ExitCode.configuration.rawValue && outcome.errorLines.count == 2, "\(outcome)")
        #expect(outcome.errors.contains("machine.key") && outcome.errors.contains("has a second name"), "\(outcome)")
    }
}
