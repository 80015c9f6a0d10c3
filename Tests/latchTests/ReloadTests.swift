import CommandInterface
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

/// A lock, a key with a link to it, and an operator, each a process.
@Suite("Daemons: a configuration that is read anew", .serialized, .timeLimit(.minutes(30)))
struct ReloadTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    @discardableResult
    private func configure(_ text: String) throws -> String { try bench.directory.write(text, to: "lock.conf") }

    private func start() throws -> Daemon {
        try bench.start(
            "peripheral", "lock", ["--config", bench.path("lock.conf"), "--journal", bench.path("journal")])
    }

    private func reload(_ words: [String] = []) throws -> Program.Outcome {
        try bench.latch("peripheral", "reload", "lock", words)
    }

    /// Of the journal, about this.
    private func lines(_ event: String) -> [Substring] {
        contents("journal").split(separator: "\n").filter { $0.contains("\"event\":\"\(event)\"") }
    }

    private func status() throws -> String { try bench.latch("peripheral", "status", "lock").output }

    private func script(_ name: String, _ text: String) throws -> String {
        try bench.script("cd \"$(dirname \"$0\")\"\n" + text, to: name)
    }

    private func contents(_ name: String) -> String {
        (try? String(contentsOfFile: bench.path(name), encoding: .utf8)) ?? ""
    }

    @Test(
        "Settings change under a link that stays: the command on it ends as if nothing had been; what cannot change is named"
    )
    func linked() throws {
        let command = try script(
            "bolt", "case \"$1\" in read) exit 20;; unlock) echo unlock >> calls; read line < gate;; esac\n")
        try #require(mkfifo(bench.path("gate"), 0o600) == 0)
        let gate = open(bench.path("gate"), O_RDWR)
        defer { close(gate) }
        let bolt = "[bolt]\nactuator = \"exec\"\ncommand = \"\(command)\"\ntimeout_ms = 9000\nretries = 0\n"
        try configure("[lock]\nrelock_seconds = 3600\n" + bolt)
        let lock = try start()
        let key = try bench.start("central", "key")
        try bench.enroll("anna", role: "owner")
        let asking = try ChildProcess(
            [Program.path] + bench.words("central", "unlock", "key"),
            environment: Program.environment, errors: .unheard)
        // The bolt is on its way, and the key waits on its link.
        #expect(waits { contents("calls") == "unlock\n" })
        let (connected, disconnected) = (lines("connected").count, lines("disconnected").count)
        #expect(connected == disconnected + 1)

        try configure("[lock]\nrelock_seconds = 1\nlinks = 4\n[door]\najar_seconds = 60\n" + bolt)
        let told = try reload()
        #expect(told.status == 0, "\(told)")
        #expect(
            told.output == "changed: [lock] relock_seconds, [door] ajar_seconds\nneeds a restart: [lock] links\n",
            "\(told)")
        #expect(try status().contains("relock_seconds: 1\n"))
        // What waits is named each time; nothing else has changed.
        #expect(
            try reload(["--json"]).output
                == #"{"result":{"file":"\#(bench.path("lock.conf"))","changed":[],"needs_restart":["[lock] links"]}}"#
                + "\n")
        #expect(lines("connected").count == connected && lines("disconnected").count == disconnected)
        #expect(write(gate, "x\n", 2) == 2)
        #expect(asking.wait().code == 0)
        // By the lock's own receipt, on the link of the command.
        let outcome = String(decoding: asking.output.readDataToEndOfFile(), as: UTF8.self)
        #expect(outcome.contains("outcome: done"), "\(outcome)")

        try bench.succeed("peripheral", "lock", "lock")
        #expect(write(gate, "x\n", 2) == 2)
        try bench.succeed("peripheral", "unlock", "lock")
        #expect(try waits { try status().contains("bolt: locked\n") }, "the new time counts")
        #expect(lines("reloaded").count == 2)
        #expect(lock.end() == 0 && key.end() == 0)
        let audit = try Program.run(["audit", "list", "--state", bench.path("lock")]).output
        #expect(audit.contains("settings_changed"), "\(audit)")
    }

    @Test("SIGHUP reads the file; one with a fault changes nothing and is told with file, key and line")
    func signal() throws {
        try configure("[lock]\nrelock_seconds = 3600\n")
        let lock = try start()
        try configure("[lock]\nrelock_seconds = 7\nrelok_seconds = 5\n[door]\nexit = \"x\"\n")
        Glibc.kill(lock.pid, SIGHUP)
        #expect(waits { lines("reload_failed").count == 1 })
        let failed = String(try #require(lines("reload_failed").first))
        for part in ["lock.conf line 3 column 1", "relok_seconds", "line 5", "`exit`"] {
            #expect(failed.contains(part), "\(failed)")
        }
        #expect(try status().contains("relock_seconds: 3600\n"))
        let refused = try reload()
        #expect(refused.status == ExitCode.configuration.rawValue && refused.errorLines.count == 1, "\(refused)")
        #expect(refused.errors.contains("nothing has changed") && refused.errors.contains("line 3"), "\(refused)")
        // What stands there no more stays as it is, and is nobody's.
        try configure("[lock]\nlock_and_go_seconds = 9\n")
        Glibc.kill(lock.pid, SIGHUP)
        #expect(waits { lines("reloaded").count == 1 })
        let now = try status()
        #expect(now.contains("relock_seconds: 3600\n") && now.contains("lock_and_go_seconds: 9\n"), "\(now)")
        let json = try bench.latch("peripheral", "status", "lock", ["--json"]).output
        #expect(json.contains(#""fixed":["lock_and_go_seconds"]"#), "\(json)")
        #expect(lock.end() == 0)
    }

    @Test(
        "A hook that is named while the lock runs hears of the next alarm, and another one in its place of those behind"
    )
    func hook() throws {
        let bolt = try script("bolt", "case \"$1\" in unlock) exit 10;; read) exit 20;; esac\n")
        let configuration = "[bolt]\nactuator = \"exec\"\ncommand = \"\(bolt)\"\nretries = 0\n"
        try configure(configuration)
        let lock = try start()
        for name in ["first", "second"] {
            let hook = try script("\(name)-hook", "cat >> \(name)\n")
            try configure(configuration + "[alarms]\nhook = \"\(hook)\"\n")
            #expect(try reload().output == "changed: [alarms] hook\n")
            #expect(try bench.latch("peripheral", "unlock", "lock").status == ExitCode.refused.rawValue)
            #expect(
                waits { contents(name).contains("\"jam\"") }
            )
            #expect(try waits { try status().contains("bolt: locked\n") })
        }
        #expect(lock.end() == 0)
    }

    @Test(
        "A hook that the kernel has no timer for is not named: the next reload serves it, and it hears of the next alarm"
    )
    func hookWithoutTimer() throws {
        let bolt = try script("bolt", "case \"$1\" in unlock) exit 10;; read) exit 20;; esac\n")
        let configuration = "[bolt]\nactuator = \"exec\"\ncommand = \"\(bolt)\"\nretries = 0\n"
        try configure(configuration)
        let lock = try start()
        let hook = try script("first-hook", "cat >> first\n")
        try configure(configuration + "[alarms]\nhook = \"\(hook)\"\n")
        do {
            let failing = try FailingCalls("timerfd_create:error=EMFILE", of: lock)
            let refused = try reload()
            #expect(refused.status == ExitCode.configuration.rawValue, "\(refused)")
            #expect(refused.errors.contains("nothing has changed: the alarms' hook has no timer"), "\(refused)")
            withExtendedLifetime(failing) {}
        }
        #expect(try reload().output == "changed: [alarms] hook\n")
        #expect(try bench.latch("peripheral", "unlock", "lock").status == ExitCode.refused.rawValue)
        #expect(waits { contents("first").contains("\"jam\"") })
        #expect(lock.end() == 0)
    }

    @Test("A place that has changed in the file is where nobody listens: the operator hears that a restart is wanted")
    func otherPlace() throws {
        try configure("")
        let lock = try start()
        try configure("state = \"\(bench.path("lock"))\"\n[control]\nsocket = \"\(bench.path("other.sock"))\"\n")
        let lost = try Program.run(["peripheral", "reload", "--config", bench.path("lock.conf")])
        #expect(lost.status == ExitCode.unavailable.rawValue, "\(lost)")
        #expect(lost.errors.contains("listens where it did: restart it"), "\(lost)")
        #expect(try reload().output == "nothing has changed\nneeds a restart: [control] socket\n")
        #expect(lock.end() == 0)
    }

    @Test("A hook that is named no more hears of no alarm, and one that is named later of none before")
    func unnamedHook() throws {
        let bolt = try script("bolt", "case \"$1\" in unlock) exit 10;; read) exit 20;; esac\n")
        let configuration = "[bolt]\nactuator = \"exec\"\ncommand = \"\(bolt)\"\nretries = 0\n"
        func hook(_ name: String) throws -> String {
            "[alarms]\nhook = \"\(try script("\(name)-hook", "cat >> \(name)\n"))\"\n"
        }
        try configure(configuration + hook("first"))
        let lock = try start()
        for text in ["", try hook("second")] {
            try configure(configuration + text)
            #expect(try reload().output == "changed: [alarms] hook\n")
            #expect(try bench.latch("peripheral", "unlock", "lock").status == ExitCode.refused.rawValue)
            #expect(try waits { try status().contains("bolt: locked\n") })
        }
        // One runs at a time, and in order: what the first was to hear it would have heard by now.
        #expect(waits { !contents("second").isEmpty })
        #expect(contents("first").isEmpty && contents("second").split(separator: "\n").count == 1)
        #expect(lock.end() == 0)
    }

    @Test("What is read before the radio is there counts at once, and what the file says is nobody else's to set")
    func beforeTheRadio() throws {
        bench.unplug()
        try configure("[lock]\nrelock_seconds = 3600\n")
        let lock = try Daemon(bench.arguments("peripheral", "lock") + ["--config", bench.path("lock.conf")])
        #expect(try waits { try bench.latch("peripheral", "status", "lock").status == 0 })
        try configure("[lock]\nlock_and_go_seconds = 9\n[door]\npassage = \"mon-sun 00:00-24:00\"\n")
        #expect(
            try reload().output
                == "changed: [lock] relock_seconds, [lock] lock_and_go_seconds, [door] passage\n")
        #expect(try status().contains("held_open: schedule\n"))
        try bench.plug()
        #expect(try waits { try status().contains("radio: on") })
        #expect(try status().contains("held_open: schedule\n"))
        let json = try bench.latch("peripheral", "status", "lock", ["--json"]).output
        #expect(
            json.contains(#""lock_and_go_seconds":9"#) && json.contains(#""fixed":["lock_and_go_seconds"]"#), "\(json)")
        #expect(lock.end() == 0)
    }

    @Test(
        "Without a configuration file there is nothing to read, and SIGHUP ends a daemon",
        arguments: ["peripheral", "central"])
    func withoutFile(role: String) throws {
        let state = role == "peripheral" ? "lock" : "key"
        // Whoever runs the tests under nohup has it ignored, and so has all that they start.
        let daemon = try Daemon(
            ["--default-signal=HUP", Program.path] + bench.arguments(role, state), of: "/usr/bin/env")
        #expect(try waits { try bench.latch(role, "status", state).output.contains("radio: on") })
        let refused = try bench.latch(role, "reload", state)
        #expect(refused.status == ExitCode.refused.rawValue && refused.errors.contains("`--config FILE`"), "\(refused)")
        #expect(daemon.crash(by: SIGHUP) == .killed(SIGHUP))
    }

    @Test("A key's daemon takes another log level, and says what waits")
    func key() throws {
        let file = try bench.directory.write("[log]\nlevel = \"error\"\n", to: "key.conf")
        let key = try Daemon([
            "central", "run", "--transport", "unix:" + bench.path("air"), "--state", bench.path("key"), "--config",
            file,
        ])
        #expect(try waits { try bench.latch("central", "status", "key").output.contains("radio: on") })
        _ = try bench.directory.write("[log]\nlevel = \"info\"\n[proximity]\nunlock = true\n", to: "key.conf")
        #expect(
            try bench.latch("central", "reload", "key").output
                == "changed: [log] level\nneeds a restart: [proximity] unlock\n")
        #expect(key.end() == 0)
        #expect(key.complaint.contains("stopped"), "a line of the level info")
    }
}
