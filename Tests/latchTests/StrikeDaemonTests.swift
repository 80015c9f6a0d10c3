import BluetoothCore
import CLinux
import CommandInterface
import DaemonControl
import Foundation
import GPIO
import Glibc
import StrikeControl
import Synchronization
import TestSupport
import Testing

@testable import StrikeKeeping
@testable import latch

private func strikePlan(_ text: String) throws -> StrikePlan {
    var settings = StrikeSettings()
    try settings.apply(ConfigurationText(text, file: "s.conf"), file: "s.conf")
    return try StrikePlan(settings, configuration: "s.conf")
}

/// A lock's daemon, and a keeper of its strike on a chip without metal: two sides of one socket.
@Suite("Daemons: a strike that a keeper has", .serialized, .timeLimit(.minutes(30)))
struct StrikeDaemonTests {
    /// A keeper on a thread of the test's, with a line that says what it did.
    private final class KeeperThread: @unchecked Sendable {
        private final class Chip: DoorChip {
            private final class Lines: DoorLines {
                let owner: KeeperThread
                init(_ owner: KeeperThread) { self.owner = owner }
                var descriptor: Int32? { owner.edges.0 }
                func set(isActive: Bool) throws(GPIOFailure) -> Bool {
                    owner.line.withLock { $0.append(isActive) }
                    return isActive
                }
                func isActive() throws(GPIOFailure) -> Bool { owner.line.withLock { $0.last ?? false } }
                func inputs() throws(GPIOFailure) -> [LineReading] {
                    var octets = [UInt8](repeating: 0, count: 64)
                    _ = read(owner.edges.0, &octets, octets.count)
                    return owner.inputs.withLock { inputs in
                        inputs.looks += 1
                        return inputs.areActive.map { LineReading(isActive: $0, hasMoved: true) }
                    }
                }
            }

            let owner: KeeperThread
            init(_ owner: KeeperThread) { self.owner = owner }
            func open() throws(GPIOFailure) -> any DoorLines { Lines(owner) }
        }

        let line = Mutex<[Bool]>([])
        /// Contact (closed), exit, fire; and how often they were looked at.
        private let inputs = Mutex((areActive: [true, false, false], looks: 0))
        private let edges: (Int32, Int32)
        private let stop: (Int32, Int32)
        private let ended = DispatchSemaphore(value: 0)

        init(_ bench: Bench, drive: String) throws {
            edges = try makeSocketPair()
            stop = try makeSocketPair()
            _ = latch_fcntl(edges.0, F_SETFL, O_NONBLOCK)
            let plan = try strikePlan(
                """
                chip = "door"
                [socket]
                path = "\(bench.path("strike.sock"))"
                user = "\(geteuid())"
                [strike]
                line = "0"
                fail = "secure"
                drive = "\(drive)"
                [contact]
                line = "1"
                [exit]
                line = "2"
                [fire]
                line = "3"
                [inputs]
                debounce_ms = 0
                """)
            let stop = stop.0
            Thread.detachNewThread { [self] in
                do {
                    // It goes with the thread, and its socket too.
                    _ = try KeeperLoop(plan, chip: Chip(self), signals: []) { _ in }.run(until: stop)
                } catch {
                    Issue.record(error)
                }
                ended.signal()
            }
        }

        deinit { for end in [edges.0, edges.1, stop.0, stop.1] { close(end) } }

        func end() {
            _ = write(stop.1, "x", 1)
            ended.wait()
        }

        /// Returns when the keeper has seen it, so that the daemon hears of it before whatever is set next.
        func set(_ index: Int, _ isActive: Bool) {
            let looks = inputs.withLock { inputs in
                inputs.areActive[index] = isActive
                return inputs.looks
            }
            _ = write(edges.1, "x", 1)
            #expect(waits { inputs.withLock { $0.looks } > looks })
        }

        var isActive: Bool { line.withLock { $0.last ?? false } }
        var openings: Int { line.withLock { $0.filter(\.self).count } }
    }

    private static func configuration(_ bench: Bench, _ bolt: String = "", lock: String = "") throws -> String {
        try bench.directory.write(
            "[lock]\n\(lock)\n[bolt]\nactuator = \"gpio\"\nkeeper = \"\(bench.path("strike.sock"))\"\n\(bolt)\n",
            to: "lock.conf")
    }

    @Test(
        "Over the socket: a pulse opens and ends by itself, a press opens, the contact is known, and a forced door is told"
    )
    func pulse() throws {
        let bench = try Bench()
        let keeper = try KeeperThread(bench, drive: "pulse")
        let file = try Self.configuration(bench, "pulse_ms = 300", lock: "relock_seconds = 3600")
        let lock = try bench.start("peripheral", "lock", ["--config", file, "--journal", bench.path("journal")])
        let key = try bench.start("central", "key")
        try bench.enroll("anna")
        try bench.succeed("central", "unlock", "key")
        #expect(waits { keeper.openings == 1 && !keeper.isActive })
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("bolt: locked") })
        keeper.set(1, true)
        #expect(waits { keeper.openings == 2 && !keeper.isActive })
        keeper.set(1, false)
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("bolt: locked") })
        keeper.set(0, false)
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("door: forced") })
        withExtendedLifetime(key) { #expect(lock.end() == 0) }
        keeper.end()
        #expect(!keeper.isActive && keeper.openings == 2)
        // What the first launch finds, and the end of each pulse, which nobody ordered: docs/STRIKE.md, "Pulse and hold".
        let audit = try Program.run(["audit", "list", "--state", bench.path("lock")]).output
        #expect(audit.matches(of: /\n.* bolt +- +position=locked\n/).count == 3, "\(audit)")
    }

    @Test("A daemon that is killed in a hold finds it again; the keeper ends nothing, and nothing is opened twice")
    func killed() throws {
        let bench = try Bench()
        let keeper = try KeeperThread(bench, drive: "hold")
        let file = try Self.configuration(bench, lock: "relock_seconds = 3600")
        let lock = try bench.start("peripheral", "lock", ["--config", file])
        let key = try bench.start("central", "key")
        try bench.enroll("anna")
        try bench.succeed("central", "unlock", "key")
        #expect(keeper.isActive)
        lock.kill()
        let next = try bench.start("peripheral", "lock", ["--config", file])
        #expect(try bench.latch("peripheral", "status", "lock").output.contains("bolt: unlocked"))
        #expect(keeper.isActive && keeper.openings == 1)
        keeper.set(2, true)
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("held_open: fire") })
        keeper.set(2, false)
        #expect(waits { !keeper.isActive })
        withExtendedLifetime(key) { #expect(next.end() == 0) }
        keeper.end()
    }

    @Test("A configuration that is read anew: each rule of the door counts from then on")
    func reloaded() throws {
        let bench = try Bench()
        let keeper = try KeeperThread(bench, drive: "hold")
        func configure(_ door: String) throws -> String {
            try Self.configuration(bench, "[door]\n" + door, lock: "relock_seconds = 3600")
        }
        func reload(_ door: String) throws -> String {
            _ = try configure(door)
            return try bench.latch("peripheral", "reload", "lock").output
        }
        func says(_ text: String) throws -> Bool {
            try waits { try bench.latch("peripheral", "status", "lock").output.contains(text + "\n") }
        }
        let lock = try bench.start("peripheral", "lock", ["--config", configure("")])
        keeper.set(1, true)
        try #require(waits { keeper.isActive })
        keeper.set(1, false)
        // Nobody locks until he has gone out.
        #expect(try bench.latch("peripheral", "lock", "lock").errors.contains("somebody goes out"))
        keeper.set(0, false)
        try #require(try says("door: open"))
        keeper.set(0, true)
        try #require(try says("door: closed"))
        #expect(try bench.latch("peripheral", "lock", "lock").output == "locked\n")

        #expect(try reload("exit = \"announces\"") == "changed: [door] exit\n")
        keeper.set(1, true)
        keeper.set(1, false)
        keeper.set(0, false)
        try #require(try says("door: open"), "somebody goes out, and nobody forces it")
        #expect(keeper.openings == 1)
        keeper.set(0, true)
        try #require(try says("door: closed"))

        #expect(
            try reload("lock_when_closed = true\najar_seconds = 1")
                == "changed: [door] ajar_seconds, [door] lock_when_closed, [door] exit\n")
        #expect(try bench.latch("peripheral", "unlock", "lock").output == "unlocked\n")
        keeper.set(0, false)
        try #require(try says("door: ajar"))
        keeper.set(0, true)
        try #require(waits { !keeper.isActive }, "no hour has passed")

        #expect(
            try reload("passage = \"mon-sun 00:00-24:00\"")
                == "changed: [door] ajar_seconds, [door] lock_when_closed, [door] passage\n")
        try #require(try says("held_open: schedule") && keeper.isActive)
        #expect(try bench.latch("peripheral", "lock", "lock").status == ExitCode.refused.rawValue)
        #expect(try reload("") == "changed: [door] passage\n")
        try #require(waits { !keeper.isActive })
        #expect(lock.end() == 0)
        keeper.end()
    }

    @Test("Without a keeper the lock runs and opens nothing; one that comes later is found")
    func late() throws {
        let bench = try Bench()
        let file = try Self.configuration(bench)
        let lock = try bench.start("peripheral", "lock", ["--config", file, "--journal", bench.path("journal")])
        let key = try bench.start("central", "key")
        try bench.enroll("anna")
        #expect(try bench.latch("central", "unlock", "key").status != 0)
        #expect(try bench.latch("peripheral", "status", "lock").output.contains("bolt: unknown"))
        let keeper = try KeeperThread(bench, drive: "pulse")
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("bolt: locked") })
        #expect(keeper.openings == 0)
        try bench.succeed("central", "unlock", "key")
        #expect(keeper.openings == 1)
        withExtendedLifetime(key) { #expect(lock.end() == 0) }
        keeper.end()
    }

    @Test(
        "Before there was ever a radio the button inside opens, and the door is locked again; the radio that comes opens nothing"
    )
    func exitWithoutRadio() throws {
        let bench = try Bench(withRadio: false)
        let keeper = try KeeperThread(bench, drive: "hold")
        let file = try Self.configuration(bench, lock: "relock_seconds = 1")
        let lock = try Daemon(bench.arguments("peripheral", "lock") + ["--config", file])
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("bolt: locked") })
        keeper.set(1, true)
        #expect(waits { keeper.openings == 1 })
        keeper.set(1, false)
        #expect(waits { !keeper.isActive })
        try bench.plug()
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("radio: on") })
        #expect(keeper.openings == 1)
        #expect(lock.end() == 0)
        keeper.end()
    }

    @Test("What the daemon's configuration may not say of a keeper is refused at the start")
    func unusable() throws {
        let bench = try Bench(withRadio: false)
        for (bolt, key, problem, remedy) in [
            (
                "actuator = \"gpio\"\nkeeper = \"strike.sock\"", "keeper", "cannot be that",
                "write the socket's whole path"
            ),
            ("actuator = \"gpio\"\npulse_ms = 49", "pulse_ms", "is out of range", "from 50 to 60000"),
            (
                "actuator = \"gpio\"\ncommand = \"/bin/true\"", "command", "is for another actuator",
                "write actuator = \"exec\""
            ),
        ] {
            let file = try bench.directory.write("[bolt]\n\(bolt)\n", to: "lock.conf")
            let outcome = try Program.run(bench.arguments("peripheral", "lock") + ["--config", file])
            #expect(outcome.status == ExitCode.configuration.rawValue && outcome.errorLines.count == 1, "\(outcome)")
            for part in ["`\(key)`", problem, remedy, file] {
                #expect(outcome.errors.contains(part), "\(outcome.errors) lacks \(part)")
            }
        }
    }

    @Test("The keeper's program: its help, a wrong file, and a chip that is not there, in one line each")
    func program() throws {
        let bench = try Bench(withRadio: false)
        #expect(try Program.run(["--help"], of: Program.strike).output.contains("latch-strike run"))
        let wrong = try bench.directory.write("chip = \"x\"\n[strike]\nline = \"0\"\n", to: "strike.conf")
        let refused = try Program.run(["run", "--config", wrong], of: Program.strike)
        #expect(refused.status == ExitCode.configuration.rawValue && refused.errorLines.count == 1)
        #expect(refused.errors.contains("key `fail` in section [strike] of \(wrong) is wanted"))
        for (file, status, mode) in [
            (bench.path("gone"), ExitCode.configuration, []), (bench.directory.path, .configuration, []),
            ("/proc/self/mem", .unavailable, ["--check"]),
        ] {
            let unread = try Program.run(["run", "--config", file] + mode, of: Program.strike)
            #expect(unread.status == status.rawValue && unread.errors.contains("cannot be read"), "\(unread)")
        }
        let good = try bench.directory.write(
            "chip = \"no such chip\"\n[socket]\nuser = \"\(geteuid())\"\n[strike]\nline = \"0\"\nfail = \"secure\"\n",
            to: "strike.conf")
        let absent = try Program.run(["run", "--config", good, "--check"], of: Program.strike)
        #expect(absent.status == ExitCode.unavailable.rawValue && absent.errorLines.count == 1)
        #expect(absent.errors.contains("chip \"no such chip\": No such device: plug it in"))
    }

    @Test(
        "A keeper waits for a configuration that the system cannot read at present: its unit would start it anew at once"
    )
    func unreadableConfiguration() throws {
        let bench = try Bench(withRadio: false)
        let file = bench.path("strike.conf")
        // The kernel has an error of input for whoever reads the first page of himself.
        try #require(symlink("/proc/self/mem", file) == 0)
        func keeper() throws -> ChildProcess {
            try ChildProcess(
                [Program.strike, "run", "--config", file], environment: Program.environment, output: .unheard)
        }
        func hears(_ words: String, from keeper: ChildProcess) -> String {
            var said = ""
            while !said.contains(words), case let octets = keeper.errors.availableData, !octets.isEmpty {
                said += String(decoding: octets, as: UTF8.self)
            }
            return said
        }
        let stopped = try keeper()
        let told = hears("it is tried again\n", from: stopped)
        #expect(told.contains("\(file) cannot be read: Input/output error") && told.hasSuffix("it is tried again\n"))
        stopped.signal(SIGTERM)
        #expect(stopped.wait().status == ExitCode.unavailable.rawValue)
        let waiting = try keeper()
        #expect(hears("it is tried again\n", from: waiting).contains("cannot be read"))
        let good = try bench.directory.write(
            "chip = \"no such chip\"\n[socket]\npath = \"\(bench.path("strike.sock"))\"\nuser = \"\(geteuid())\"\n"
                + "[strike]\nline = \"0\"\nfail = \"secure\"\n", to: "good.conf")
        try #require(rename(good, file) == 0)
        // Said once, however often it was tried.
        #expect(!hears("no such chip", from: waiting).contains("cannot be read"))
        waiting.signal(SIGTERM)
        #expect(waiting.wait().status == 0)
    }

    private static func lockedKibibytes(_ pid: pid_t) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmLck:") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }

    @Test(
        "As it is started: the socket is its group's, whatever the umask is, for the unit's leaves nothing to a group; the program stays in memory"
    )
    func started() throws {
        let bench = try Bench(withRadio: false)
        let path = bench.path("strike.sock")
        let file = try bench.directory.write(
            "chip = \"no such chip\"\n[socket]\npath = \"\(path)\"\nuser = \"\(geteuid())\"\n"
                + "[strike]\nline = \"0\"\nfail = \"secure\"\n", to: "strike.conf")
        let keeper = try ChildProcess(
            ["/bin/sh", "-c", "umask 077 && exec \"$0\" \"$@\"", Program.strike, "run", "--config", file],
            environment: Program.environment)
        var made = stat()
        // Nobody connects before it listens, and it has its mode by then.
        let isThere = waits {
            guard let made = try? makeConnection(to: path, SOCK_SEQPACKET) else { return false }
            return close(made) == 0
        }
        #expect(isThere)
        #expect(lstat(path, &made) == 0 && made.st_mode & 0o7777 == 0o660)
        // And what it has used stays in memory, where it may.
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit)
        let mayLock = geteuid() == 0 || limit.rlim_cur >= 32 << 20
        if mayLock, !Sanitizer.isThere { #expect(waits { Self.lockedKibibytes(keeper.pid) > 1_000 }) }
        keeper.signal(SIGTERM)
        #expect(keeper.wait().code == 0)
    }

    @Test("Strangers: another user is not heard, and neither is a daemon that says no hello, or what is no message")
    func strangers() throws {
        let bench = try Bench(withRadio: false)
        let text = { (user: UInt32) in
            "chip = \"door\"\n[socket]\npath = \"\(bench.path("s"))\"\nuser = \"\(user)\"\n[strike]\nline = \"0\"\nfail = \"secure\"\n"
        }
        /// What a keeper says to these messages, until it hangs up or has said nothing more to the last.
        func answers(_ user: UInt32, _ messages: [[UInt8]]) throws -> [StrikeReport] {
            let socket = try StrikeSocket(strikePlan(text(user)))
            let made = try makeConnection(to: bench.path("s"), SOCK_SEQPACKET)
            defer { close(made) }
            guard case .daemon(let connection)? = socket.accept() else { return [] }
            var heard: [StrikeReport] = []
            for message in messages {
                _ = send(made, message, message.count, latch_message_flags())
                if case .request = connection.receive() { connection.send(.exit) } else { break }
            }
            var octets = [UInt8](repeating: 0, count: 64)
            while true {
                let count = recv(made, &octets, octets.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { return heard }
                heard.append(try StrikeReport(exactly: Array(octets[..<count])))
            }
        }
        let hello = StrikeRequest.hello(version: StrikeProtocol.version).encoded
        let order = StrikeRequest.order(
            StrikeOrder(intent: 1, movement: .unlock, pulseMilliseconds: 1, notAfter: nil)
        ).encoded
        #expect(try answers(geteuid(), [hello, order]) == [.exit, .exit])
        #expect(try answers(geteuid() + 1, [hello, order]) == [])
        #expect(try answers(geteuid(), [order]) == [])
        #expect(try answers(geteuid(), [hello, order + [0]]) == [.exit])
        #expect(try answers(geteuid(), [hello, [0x02]]) == [.exit])
        #expect(try answers(geteuid(), [[0x01, 1]]) == [.unsupported(version: StrikeProtocol.version)])
    }

    @Test("Two keepers do not share a socket")
    func twice() throws {
        let bench = try Bench(withRadio: false)
        let plan = try strikePlan(
            "chip = \"door\"\n[socket]\npath = \"\(bench.path("s"))\"\nuser = \"0\"\n[strike]\nline = \"0\"\nfail = \"secure\"\n"
        )
        let first = try StrikeSocket(plan)
        let failure = #expect(throws: Failure.self) { _ = try StrikeSocket(plan) }
        #expect(failure?.message.contains("another keeper is running here") == true)
        _ = first.descriptor
    }
}
