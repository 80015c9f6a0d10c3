import CommandInterface
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

@Suite("Daemons", .serialized)
struct DaemonTests {
    @Test("from a setup code to the bolt, and on through a kill of both sides")
    func enrolAndUnlock() throws {
        let bench = try Bench()
        var lock = try bench.start("peripheral", "lock")
        var key = try bench.start("central", "key")
        let abandoned = try Window(["--state", bench.path("lock"), "--credential", "anna", "--role", "owner"])
        _ = try abandoned.code()
        abandoned.leave()
        try bench.enroll("anna")
        for _ in 0..<2 {
            for operation in ["unlock", "lock"] {
                let outcome = try bench.latch("central", operation, "key")
                #expect(outcome.status == 0, "\(outcome)")
                #expect(outcome.output.contains("outcome: done"))
                let state = try bench.latch("peripheral", "status", "lock").output
                #expect(state.contains("bolt: \(operation)ed"))
                #expect(state.contains("audit:\n  first: 1\n  last: "))
            }
            lock.kill()
            key.kill()
            lock = try bench.start("peripheral", "lock")
            key = try bench.start("central", "key")
        }
        #expect(lock.end() == 0)
        #expect(key.end() == 0)
        #expect(try bench.latch("state", "check", "lock").output.contains("faults: []"))
        let kept = try bench.latch("state", "inspect", "lock", ["--json"]).output
        #expect(kept.contains("anna"))
        #expect(kept.contains("(secret)"))
    }

    @Test("two daemons on one state: the second says so and harms nothing")
    func twoDaemons() throws {
        let bench = try Bench()
        let first = try bench.start("peripheral", "lock")
        let second = try Program.run(bench.arguments("peripheral", "lock"))
        #expect(second.status == ExitCode.state.rawValue)
        #expect(second.errorLines.count == 1)
        #expect(second.errors.contains("in use by process"))
        try bench.succeed("peripheral", "status", "lock")
        #expect(first.end() == 0)
    }

    @Test(
        "a controller that is not there is said, with what to do, and waited for", arguments: ["peripheral", "central"])
    func noSocket(role: String) throws {
        let bench = try Bench(withRadio: false)
        let daemon = try Daemon(bench.arguments(role, "lock"))
        #expect(try waits { try bench.latch(role, "status", "lock").output.contains("radio: unknown") })
        try bench.plug()
        #expect(try waits { try bench.latch(role, "status", "lock").output.contains("radio: on") })
        #expect(daemon.end() == 0)
        let lines = daemon.complaint.split(separator: "\n")
        #expect(lines.count == 1)
        #expect(lines.first?.contains("controller_unavailable") == true)
        #expect(lines.first?.contains("unix:\(bench.path("air")): no such socket; start the controller") == true)
    }

    @Test("what no waiting mends is an error at launch: no serial line, and a descriptor that nobody handed over")
    func impossibleTransport() throws {
        let bench = try Bench(withRadio: false)
        for (transport, remedy) in [
            ("serial:/dev/null", "not a serial line"), ("fd:\(Int32.max)", "must be inherited"),
        ] {
            let outcome = try Program.run(bench.arguments("peripheral", "lock", transport: transport))
            #expect(outcome.status == ExitCode.transport.rawValue)
            #expect(outcome.errorLines.count == 1)
            #expect(outcome.errors.contains(remedy), "\(outcome)")
        }
    }

    @Test("a number that nobody handed over and that is the daemon's own costs it nothing", arguments: Int32(3)...15)
    func ownDescriptor(number: Int32) throws {
        let bench = try Bench(withRadio: false)
        let outcome = try Program.run(bench.arguments("peripheral", "lock", transport: "fd:\(number)"))
        #expect(outcome.status == ExitCode.transport.rawValue, "\(outcome)")
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.contains("latch: fd:\(number): "))
        #expect(outcome.errors.contains("must be inherited"), "\(outcome)")
    }

    @Test("a controller's stream that ends in the middle of a packet is said, and opened again")
    func truncatedStream() throws {
        let bench = try Bench(withRadio: false)
        let listener = try bench.listen()
        let daemon = try Daemon(bench.arguments("peripheral", "lock", logLevel: "warning"))
        for _ in 0..<2 {
            let connection = try acceptConnection(listener)
            // The host's Reset is read, so that closing is an end of file and no reset of the socket.
            var reset = [UInt8](repeating: 0, count: 4)
            #expect(read(connection, &reset, 4) == 4)
            #expect(reset == [1, 3, 0x0C, 0])
            // A Command Complete of four octets, of which one comes.
            #expect(write(connection, [0x04, 0x0E, 0x04, 0x01] as [UInt8], 4) == 4)
            close(connection)
        }
        let third = try acceptConnection(listener)
        #expect(daemon.end() == 0)
        let complaint = daemon.complaint
        #expect(
            complaint.split(separator: "\n").count { $0.contains("in the middle of a packet") } == 2, "\(complaint)")
        close(third)
        close(listener)
    }

    @Test("octets that are no HCI: the daemon says so, resets, and goes on behind the answer")
    func outOfStep() throws {
        let bench = try Bench(withRadio: false)
        let listener = try bench.listen()
        let daemon = try Daemon(bench.arguments("central", "lock", logLevel: "warning"))
        let connection = try acceptConnection(listener)
        func heard() -> [UInt8] {
            var command = [UInt8](repeating: 0, count: 4)
            #expect(recv(connection, &command, 4, Int32(MSG_WAITALL)) == 4)
            return command
        }
        #expect(heard() == [1, 3, 0x0C, 0])
        #expect(write(connection, [0x99, 4, 0x0E] as [UInt8], 3) == 3)
        #expect(heard() == [1, 3, 0x0C, 0])
        // Octets that were under way, and the answer.
        #expect(write(connection, [7, 8, 9, 4, 0x0E, 4, 1, 3, 0x0C, 0] as [UInt8], 10) == 10)
        // HCI_Read_Local_Version_Information: the bring-up goes on.
        #expect(heard() == [1, 1, 0x10, 0])
        #expect(daemon.end() == 0)
        let complaint = daemon.complaint
        #expect(complaint.contains("controller_failed"))
        #expect(complaint.contains("transport=unix:"))
        #expect(complaint.contains("packet indicator 0x99"))
        #expect(complaint.contains("remedy=reset reset_ms=0"), "\(complaint)")
        #expect(complaint.contains("controller_resynchronised"))
        #expect(complaint.contains("discarded_octets=3"), "\(complaint)")
        close(connection)
        close(listener)
    }

    @Test("the controller is unplugged and comes back: both daemons stay, and the key opens the lock again")
    func replug() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        try bench.enroll("anna")
        for operation in ["unlock", "lock"] {
            try bench.succeed("central", operation, "key")
            bench.unplug()
            for (role, state) in [("peripheral", "lock"), ("central", "key")] {
                #expect(try waits { try bench.latch(role, "status", state).output.contains("radio: resetting") })
            }
            try bench.plug()
        }
        try bench.succeed("central", "unlock", "key")
        #expect(lock.end() == 0)
        #expect(key.end() == 0)
    }

    @Test("a database that is none is refused and left as it was", arguments: ["peripheral", "central"])
    func notADatabase(role: String) throws {
        let bench = try Bench(withRadio: false)
        let state = role == "peripheral" ? "lock" : "key"
        let file = bench.path(state) + "/latch.sqlite"
        let garbage = Data(repeating: 0x5A, count: 8192)
        try garbage.write(to: URL(fileURLWithPath: file))
        try Data(repeating: 1, count: 32).write(to: URL(fileURLWithPath: bench.path(state) + "/machine.key"))
        for name in ["latch.sqlite", "machine.key"] {
            chmod(bench.path(state) + "/" + name, 0o600)
        }
        let outcome = try Program.run(bench.arguments(role, state))
        #expect(outcome.status == ExitCode.state.rawValue)
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.contains(file))
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == garbage)
    }

    @Test("a database in a directory that is not there")
    func noDatabaseDirectory() throws {
        let bench = try Bench(withRadio: false)
        let outcome = try Program.run(
            bench.arguments("peripheral", "lock") + ["--database", "/nonexistent/deeper/latch.sqlite"])
        #expect(outcome.status == ExitCode.state.rawValue)
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.contains("/nonexistent"))
    }

    @Test(
        "a configuration of OpenSSL that takes every algorithm away takes none from a daemon",
        arguments: [("peripheral", "lock"), ("central", "key")])
    func openSSLConfiguration(role: String, state: String) throws {
        let bench = try Bench()
        let configuration = try bench.directory.write(
            """
            openssl_conf = init
            [init]
            alg_section = algorithms
            [algorithms]
            default_properties = provider=nobody

            """, to: "openssl.cnf")
        let daemon = try Daemon(
            ["OPENSSL_CONF=" + configuration, Program.path] + bench.arguments(role, state), of: "/usr/bin/env")
        #expect(try waits { try !daemon.isRunning || bench.latch(role, "status", state).output.contains("radio: on") })
        #expect(daemon.end() == 0)
    }

    @Test(
        "A daemon that crashes is gone at once, by the signal, and says nothing of its memory",
        arguments: ["peripheral", "central"], [SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGQUIT])
    func crash(role: String, signal: Int32) throws {
        let bench = try Bench()
        let state = role == "peripheral" ? "lock" : "key"
        let daemon = try bench.start(role, state)
        #expect(daemon.crash(by: signal) == .killed(signal))
        #expect(daemon.complaint == "")
    }

    @Test("a daemon that is asked to stop stops, and says so to who asked")
    func stop() throws {
        let bench = try Bench()
        let daemon = try bench.start("central", "key")
        try bench.succeed("central", "stop", "key")
        #expect(daemon.end(signalling: false) == 0)
        #expect(try bench.latch("central", "status", "key").status == ExitCode.unavailable.rawValue)
    }

    @Test("an enrolled lock and key are on the air under private addresses, unless they are told otherwise")
    func privateByDefault() throws {
        let bench = try Bench()
        let open = try bench.directory.write("privacy = false\n", to: "open.conf")
        var lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        /// The address on the air, and the identity address.
        func addresses(_ role: String, _ state: String) throws -> [String: String] {
            let lines = try bench.latch(role, "status", state).output.split(separator: "\n")
            let pairs = lines.map { $0.components(separatedBy: ": ") }.filter { $0.count == 2 }
            return Dictionary(pairs.map { ($0[0], $0[1]) }) { first, _ in first }
        }
        let fresh = try addresses("peripheral", "lock")
        #expect(fresh["on_air"] == fresh["address"], "nobody could resolve anything yet")
        try bench.enroll("anna")
        for (role, state) in [("peripheral", "lock"), ("central", "key")] {
            let said = try addresses(role, state)
            let first = try #require(said["on_air"]?.first?.hexDigitValue)
            #expect(first >> 2 == 0b01, "\(said)")
            #expect(said["address"] != said["on_air"])
        }
        #expect(lock.end() == 0)
        lock = try Daemon(bench.arguments("peripheral", "lock") + ["--config", open])
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("radio: on") })
        #expect(try addresses("peripheral", "lock")["on_air"] == fresh["address"])
        try bench.succeed("central", "unlock", "key")
        #expect(lock.end() == 0)
        #expect(key.end() == 0)
    }

    @Test("Window left open: who already has the credential neither gains nor loses a right by it")
    func windowGivesNothing() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        try bench.enroll("anna", role: "resident")
        let window = try Window(["--state", bench.path("lock"), "--credential", "anna", "--role", "lock-only"])
        _ = try window.code()
        try bench.succeed("central", "unlock", "key")
        window.leave()
        #expect(try waits { try bench.roles() == ["resident"] })
        try bench.succeed("central", "lock", "key")
        // The same key again, under the same name: the bond is replaced, and the role with it.
        try bench.enroll("anna", role: "lock-only")
        #expect(try bench.roles() == ["lockOnly"])
        let refused = try bench.latch("central", "unlock", "key")
        #expect(refused.errors.contains("not permitted"), "\(refused)")
        try bench.succeed("central", "lock", "key")
        #expect(lock.end() == 0)
        #expect(key.end() == 0)
    }

    @Test("Unplugged controller: the relock is made all the same", arguments: ["running", "launched", "refused"])
    func relockWithoutRadio(_ life: String) throws {
        let bench = try Bench()
        let configuration = try bench.directory.write("[lock]\nrelock_seconds = 1\n", to: "lock.conf")
        let arguments = bench.arguments("peripheral", "lock") + ["--config", configuration]
        var lock = try Daemon(arguments)
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("radio: on") })
        let key = try bench.start("central", "key")
        try bench.enroll("anna")
        try bench.succeed("central", "unlock", "key")
        let journal = bench.path("lock") + "/bolt.journal"
        func isLocked() throws -> Bool {
            try String(contentsOfFile: journal, encoding: .utf8).hasSuffix(" lock\n")
        }
        if life != "running" { lock.kill() }
        bench.unplug()
        if life == "launched" { lock = try Daemon(arguments) }
        // As a service manager does it, with a controller that no waiting mends.
        let impossible =
            bench.arguments("peripheral", "lock", transport: "serial:/dev/null") + ["--config", configuration]
        let hasLocked = try waits {
            if life == "refused" { #expect(try Program.run(impossible).status == ExitCode.transport.rawValue) }
            return try isLocked()
        }
        #expect(hasLocked)
        key.kill()
        if life != "refused" {
            // The bolt comes first: a launch that has locked may not hear signals yet.
            #expect(try waits { try bench.latch("peripheral", "status", "lock").status == 0 })
            #expect(lock.end() == 0)
        }
        #expect(try bench.latch("state", "check", "lock").output.contains("faults: []"))
    }

    @Test("whoever reads the log may go, and the daemon stays", arguments: ["peripheral", "central"])
    func logReaderGone(role: String) throws {
        let bench = try Bench()
        let words = bench.arguments(role, "lock").dropLast() + ["info"]
        let script = "\"$@\" 2>&1 >/dev/null | head -n 1"
        let piped = try Daemon(["-c", script, "sh", Program.path] + words, of: "/bin/sh")
        #expect(try waits { try bench.latch(role, "status", "lock").output.contains("radio: on") })
        for _ in 0..<3 { try bench.succeed(role, "status", "lock") }
        try bench.succeed(role, "stop", "lock")
        _ = piped.end(signalling: false)
    }
}
