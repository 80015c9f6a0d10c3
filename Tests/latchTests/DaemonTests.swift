import Foundation
import Glibc
import Testing

@testable import latch

/// A daemon of the test's, ended with it.
private final class Daemon {
    private let process = Process()
    private let errors = Pipe()

    init(_ arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: Program.path)
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin"]
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        try process.run()
    }

    deinit { kill() }

    func kill() {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    /// Its status after SIGTERM, or by itself.
    func end(signalling: Bool = true) -> Int32 {
        if signalling { process.terminate() }
        process.waitUntilExit()
        return process.terminationStatus
    }

    var complaint: String { String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) }
}

/// Until `condition` holds; processes are waited for, and nothing else.
private func waits(_ condition: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<1_000 {
        if try condition() { return true }
        usleep(10_000)
    }
    return false
}

/// A radio and room for daemons beside it.
private final class Bench {
    let directory: TemporaryDirectory
    private var radio: Daemon?

    init(withRadio: Bool = true) throws {
        directory = try TemporaryDirectory()
        for name in ["lock", "key"] {
            try FileManager.default.createDirectory(
                atPath: path(name), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        guard withRadio else { return }
        radio = try Daemon([
            "radio", "--socket", path("air"), "--control", path("air.control"), "--air", "immediate",
        ])
        #expect(waits { FileManager.default.fileExists(atPath: path("air")) })
    }

    func path(_ name: String) -> String { directory.path + "/" + name }

    func arguments(_ role: String, _ state: String) -> [String] {
        [role, "run", "--transport", "unix:" + path("air"), "--state", path(state), "--log-level", "error"]
    }

    func start(_ role: String, _ state: String) throws -> Daemon {
        let daemon = try Daemon(arguments(role, state))
        #expect(try waits { try latch(role, "status", state).output.contains("radio: on") })
        return daemon
    }

    func latch(_ role: String, _ command: String, _ state: String, _ more: [String] = [], input: String = "") throws
        -> Program.Outcome
    {
        try Program.run([role, command, "--state", path(state)] + more, input: input)
    }
}

@Suite("Daemons", .serialized)
struct DaemonTests {
    @Test("from a setup code to the bolt, and on through a kill of both sides")
    func enrolAndUnlock() throws {
        let bench = try Bench()
        var lock = try bench.start("peripheral", "lock")
        var key = try bench.start("central", "key")
        let window = try Daemon([
            "peripheral", "enroll", "--state", bench.path("lock"), "--credential", "anna", "--role", "owner", "--json",
        ])
        window.kill()
        let enrolling = Process()
        let said = Pipe()
        enrolling.executableURL = URL(fileURLWithPath: Program.path)
        enrolling.arguments = ["peripheral", "enroll", "--state", bench.path("lock"), "--credential", "anna"]
        enrolling.standardOutput = said
        // The window that was killed with its operator has to have closed.
        #expect(
            try waits { try !bench.latch("peripheral", "status", "lock").output.contains("enrolling") })
        try enrolling.run()
        var heard = ""
        while !heard.contains("setup code: ") || !heard.hasSuffix("\n") {
            let more = said.fileHandleForReading.availableData
            try #require(!more.isEmpty)
            heard += String(decoding: more, as: UTF8.self)
        }
        let code = try #require(heard.split(separator: "\n").compactMap { $0.split(separator: " ").last }.last)
        let enrolled = try bench.latch("central", "enroll", "key", ["-"], input: String(code))
        #expect(enrolled.status == 0, "\(enrolled)")
        enrolling.waitUntilExit()
        #expect(enrolling.terminationStatus == 0)
        for _ in 0..<2 {
            for operation in ["unlock", "lock"] {
                let outcome = try bench.latch("central", operation, "key")
                #expect(outcome.status == 0, "\(outcome)")
                #expect(outcome.output.contains("outcome: done"))
                let state = try bench.latch("peripheral", "status", "lock").output
                #expect(state.contains("bolt: \(operation)ed"))
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

    @Test("two daemons on one restore identifier: the second says so and harms nothing")
    func twoDaemons() throws {
        let bench = try Bench()
        let first = try bench.start("peripheral", "lock")
        let second = try Program.run(bench.arguments("peripheral", "lock"))
        #expect(second.status == ExitCode.state.rawValue)
        #expect(second.errorLines.count == 1)
        #expect(second.errors.contains("\"lock\""))
        #expect(try bench.latch("peripheral", "status", "lock").status == 0)
        #expect(first.end() == 0)
    }

    @Test("a controller that is not there")
    func noSocket() throws {
        let bench = try Bench(withRadio: false)
        let outcome = try Program.run(bench.arguments("central", "key"))
        #expect(outcome.status == ExitCode.transport.rawValue)
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.contains(bench.path("air")))
    }

    @Test("a controller's stream that ends in the middle of a packet")
    func truncatedStream() throws {
        let bench = try Bench(withRadio: false)
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let octets = Array(bench.path("air").utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: octets) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        #expect(bound == 0 && listen(listener, 1) == 0)
        let daemon = try Daemon(bench.arguments("peripheral", "lock"))
        let connection = accept(listener, nil, nil)
        // The host's Reset is read, so that closing is an end of file and no reset of the socket.
        var reset = [UInt8](repeating: 0, count: 4)
        #expect(read(connection, &reset, 4) == 4)
        // A Command Complete of four octets, of which one comes.
        #expect(write(connection, [0x04, 0x0E, 0x04, 0x01] as [UInt8], 4) == 4)
        close(connection)
        #expect(daemon.end(signalling: false) == ExitCode.transport.rawValue)
        let complaint = daemon.complaint
        #expect(complaint.contains("in the middle of a packet"), "\(complaint)")
        close(listener)
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

    @Test("a daemon that is asked to stop stops, and says so to who asked")
    func stop() throws {
        let bench = try Bench()
        let daemon = try bench.start("central", "key")
        #expect(try bench.latch("central", "stop", "key").status == 0)
        #expect(daemon.end(signalling: false) == 0)
        #expect(try bench.latch("central", "status", "key").status == ExitCode.unavailable.rawValue)
    }
}
