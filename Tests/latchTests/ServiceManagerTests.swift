import CLinux
import CSQLite
import Foundation
import Glibc
import HCITransport
import HostComposition
import Testing

@testable import latch

/// The test is the service manager: it listens where systemd would.
@Suite("What the service manager hears")
struct ServiceManagerTests {
    /// The manager's end of NOTIFY_SOCKET.
    final class Listener {
        let descriptor: Int32

        /// `abstract`: in the kernel's own space of names.
        init(_ name: String) throws {
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            try #require(descriptor >= 0)
            var address = sockaddr_un()
            try #require(latch_unix_address(&address, name) == 0)
            var length = socklen_t(MemoryLayout<sa_family_t>.size + name.utf8.count)
            if name.hasPrefix("@") { address.sun_path.0 = 0 } else { length += 1 }
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
            }
            try #require(bound == 0)
            // What is waited for comes within a second; a test that waits in vain ends all the same.
            var patience = timeval(tv_sec: 30, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        }

        deinit { close(descriptor) }

        /// The next datagram.
        func next() throws -> String {
            var octets = [UInt8](repeating: 0, count: 4_096)
            let length = recv(descriptor, &octets, octets.count, 0)
            try #require(length > 0, "the daemon says nothing")
            return String(decoding: octets.prefix(length), as: UTF8.self)
        }

        /// At one each 10 ms these are the signs of a minute: a daemon that says nothing else by then never will.
        private static let signsMaximum = 6_000

        /// What comes up to `last`, signs of life left out.
        func heard(upTo last: String) throws -> [String] {
            var heard: [String] = []
            var signs = 0
            repeat {
                let line = try next()
                if line == "WATCHDOG=1" { signs += 1 } else { heard.append(line) }
                try #require(heard.count < 100 && signs < Self.signsMaximum, "\(last) never comes: \(heard)")
            } while heard.last?.hasPrefix(last) != true
            return heard
        }
    }

    @Test("where it listens, and how long it waits, by what it has left in the environment")
    func terms() throws {
        func terms(_ environment: [String: String]) -> ServiceManager.Terms? {
            ServiceManager.Terms({ environment[$0] }, process: 7)
        }
        let path = ["NOTIFY_SOCKET": "/run/systemd/notify"]
        #expect(terms([:]) == nil)
        #expect(terms(["NOTIFY_SOCKET": ""]) == nil)
        #expect(terms(["NOTIFY_SOCKET": "vsock:2:1234"]) == nil)
        #expect(terms(path)?.socket == "/run/systemd/notify")
        #expect(terms(["NOTIFY_SOCKET": "@notify"])?.socket == "@notify")
        func limit(_ more: [String: String]) -> UInt64? {
            terms(path.merging(more) { $1 })?.watchdogMicroseconds
        }
        #expect(limit([:]) == nil)
        #expect(limit(["WATCHDOG_USEC": "30000000"]) == 30_000_000)
        #expect(limit(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"]) == 30_000_000)
        #expect(limit(["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"]) == nil)
        for wrong in ["0", "-1", "soon", "", "18446744073709551616"] { #expect(limit(["WATCHDOG_USEC": wrong]) == nil) }
    }

    private func manager(at socket: String, limit: String? = nil) throws -> ServiceManager {
        let environment = ["NOTIFY_SOCKET": socket, "WATCHDOG_USEC": limit]
        return try #require(ServiceManager.Terms({ environment[$0] ?? nil }, process: 7).flatMap(ServiceManager.init))
    }

    @Test(
        "a sign of life is due three times before the manager loses its patience: one that is late costs nothing",
        arguments: [("30000000", 10_000), ("90000", 30), ("3000", 1), ("1", 1)] as [(String, UInt64)])
    func signs(limit: String, milliseconds: UInt64) throws {
        let directory = try TemporaryDirectory()
        let listener = try Listener(directory.path + "/notify")
        #expect(try manager(at: directory.path + "/notify", limit: limit).signMilliseconds == milliseconds)
        withExtendedLifetime(listener) {}
    }

    @Test("what it is told, word by word: each change once, in one line, and no sign of life where nobody counts")
    func words() throws {
        let directory = try TemporaryDirectory()
        let listener = try Listener(directory.path + "/notify")
        let manager = try manager(at: directory.path + "/notify")
        let address = try AirAddress(parsing: "unix:/run/air")
        let gone = TransportError(.notFound, "unix:/run/air: no such file")
        manager.tell(.unavailable(gone, retryMilliseconds: 100), of: address)
        manager.tell(.unavailable(gone, retryMilliseconds: 200), of: address)
        manager.tell(.found, of: address)
        manager.tell(.resynchronised(discardedOctets: 3), of: address)
        manager.tellAlive()
        manager.tell(.lost(reason: "it went\naway", retryMilliseconds: 100), of: address)
        manager.tellReady()
        manager.tellStopping()
        for line in [
            "STATUS=waits for its controller: unix:/run/air: no such file", "STATUS=serves over unix:/run/air",
            "STATUS=waits for its controller: unix:/run/air: it went away", "READY=1", "STOPPING=1",
        ] {
            #expect(try listener.next() == line)
        }
    }

    @Test("nobody who is not there is waited for")
    func absent() throws {
        let directory = try TemporaryDirectory()
        let environment = ["NOTIFY_SOCKET": directory.path + "/nobody"]
        let terms = try #require(ServiceManager.Terms({ environment[$0] }, process: 7))
        #expect(ServiceManager(terms) == nil)
        let bench = try Bench()
        let daemon = try Daemon(bench.arguments("peripheral", "lock"), environment: environment)
        #expect(try waits { try bench.latch("peripheral", "status", "lock").output.contains("radio: on") })
        #expect(daemon.end() == 0)
    }

    @Test(
        "a daemon says over what it serves, that it is ready, again and again that it is alive, what it waits for, and that it stops",
        arguments: [("peripheral", "lock"), ("central", "key")])
    func life(role: String, state: String) throws {
        let bench = try Bench()
        let manager = try Listener(bench.path("notify"))
        let daemon = try Daemon(
            bench.arguments(role, state),
            environment: ["NOTIFY_SOCKET": bench.path("notify"), "WATCHDOG_USEC": "30000"])
        let air = "unix:" + bench.path("air")
        #expect(try manager.heard(upTo: "READY=1") == ["STATUS=serves over \(air)", "READY=1"])
        for _ in 0..<5 { #expect(try manager.next() == "WATCHDOG=1") }
        bench.unplug()
        let lost = try manager.heard(upTo: "STATUS=")
        #expect(lost.count == 1 && lost[0].hasPrefix("STATUS=waits for its controller: \(air): "), "\(lost)")
        try bench.plug()
        #expect(try manager.heard(upTo: "STATUS=serves").last == "STATUS=serves over \(air)")
        #expect(daemon.end() == 0)
        #expect(try manager.heard(upTo: "STOPPING=1") == ["STOPPING=1"])
    }

    @Test("one whose controller is not there yet is ready, and says what it waits for; the name may be the kernel's")
    func waiting() throws {
        let bench = try Bench(withRadio: false)
        let name = "@latch-\(UUID())"
        let manager = try Listener(name)
        let daemon = try Daemon(bench.arguments("peripheral", "lock"), environment: ["NOTIFY_SOCKET": name])
        let heard = try manager.heard(upTo: "READY=1")
        #expect(heard.count == 2 && heard[0].hasPrefix("STATUS=waits for its controller: unix:"), "\(heard)")
        #expect(daemon.end() == 0)
    }

    @Test("one that waits before it is started again is alive, and says why it waits")
    func backingOff() throws {
        let bench = try Bench(withRadio: false)
        let manager = try Listener(bench.path("notify"))
        for name in ["run", "air"] { try bench.makeRoom(name) }
        try "40 \(latch_boottime_nanoseconds())"
            .write(toFile: bench.path("run") + "/peripheral.ends", atomically: false, encoding: .utf8)
        // A device that is no serial line: waiting for it mends nothing.
        let daemon = try Daemon(
            bench.arguments("peripheral", "lock", transport: "serial:/dev/null"),
            environment: [
                "NOTIFY_SOCKET": bench.path("notify"), "WATCHDOG_USEC": "30000", "RUNTIME_DIRECTORY": bench.path("run"),
            ])
        let heard = try manager.heard(upTo: "STATUS=waits 60 s before it is started again: ")
        #expect(heard.last?.contains("/dev/null") == true, "\(heard)")
        #expect(!heard.contains("READY=1"))
        for _ in 0..<5 { #expect(try manager.next() == "WATCHDOG=1") }
        #expect(daemon.isRunning)
        #expect(daemon.end() == 5)
    }

    @Test("one that waits for its bolt before there is a loop is alive")
    func securing() throws {
        let bench = try Bench()
        let script = try bench.script(
            """
            cd "$(dirname "$0")"
            case "$1" in
            read) [ -e open ] && exit 21; exit 20;;
            unlock) : > open;;
            lock) read line < gate; rm open;;
            esac

            """, to: "bolt")
        try #require(mkfifo(bench.path("gate"), 0o600) == 0)
        let gate = open(bench.path("gate"), O_RDWR)
        defer { close(gate) }
        let configuration = try bench.directory.write(
            "[lock]\nrelock_seconds = 3600\n[bolt]\nactuator = \"exec\"\ncommand = \"\(script)\"\ntimeout_ms = 9000\nretries = 0\n",
            to: "lock.conf")
        let lock = try bench.start("peripheral", "lock", ["--config", configuration])
        try bench.succeed("peripheral", "unlock", "lock")
        lock.kill()
        var handle: OpaquePointer?
        try #require(sqlite3_open(bench.path("lock/latch.sqlite"), &handle) == SQLITE_OK)
        #expect(sqlite3_exec(handle, "UPDATE lock_state SET relock_at = 1", nil, nil, nil) == SQLITE_OK)
        sqlite3_close(handle)
        // No serial line: it ends, and secures its door before.
        let manager = try Listener(bench.path("notify"))
        let next = try Daemon(
            bench.arguments("peripheral", "lock", transport: "serial:/dev/null") + ["--config", configuration],
            environment: ["NOTIFY_SOCKET": bench.path("notify"), "WATCHDOG_USEC": "30000000"])
        #expect(try manager.next() == "WATCHDOG=1")
        #expect(write(gate, "x\n", 2) == 2)
        #expect(next.end(signalling: false) == 5)
        #expect(!FileManager.default.fileExists(atPath: bench.path("open")))
    }
}
