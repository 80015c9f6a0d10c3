import BluetoothCore
import CLinux
import CSQLite
import CommandInterface
import Foundation
import Glibc
import HCITransport
import LockPeripheral
import StatePersistence
import Testing

@testable import DaemonControl
@testable import latch

/// Daemons whose disk or database ends them, one after the other, as the unit starts them.
@Suite("Restarting where that mends nothing")
struct RestartBackOffTests {
    @Test("The first three ends are quick; then it waits a second, and twice as long each time, a minute at most")
    func table() {
        let waits = (1...12 as ClosedRange<UInt64>).map { RestartBackOff.waitMilliseconds(ends: $0) }
        #expect(waits == [0, 0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
        #expect(RestartBackOff.waitMilliseconds(ends: .max) == 60_000)
    }

    @Test("Ends are in a row for ten minutes, and not across a restart of the machine")
    func row() {
        let last = (ends: UInt64(4), at: Instant(nanoseconds: 1_000_000_000_000))
        func ends(_ milliseconds: UInt64) -> UInt64 {
            RestartBackOff.ends(behind: last, now: last.at.advanced(byMilliseconds: milliseconds))
        }
        #expect(ends(0) == 5 && ends(RestartBackOff.rowMilliseconds - 1) == 5)
        #expect(ends(RestartBackOff.rowMilliseconds) == 1)
        #expect(RestartBackOff.ends(behind: last, now: Instant(nanoseconds: 1)) == 1)
        #expect(RestartBackOff.ends(behind: nil, now: last.at) == 1)
    }

    private struct Stranger: Error {}

    @Test(
        "What a disk, a database, a socket or a controller ends may be so at the next launch; what somebody else ends, or a wrong configuration, is not waited for"
    )
    func lasting() {
        func socket(_ reason: ControlSocketError.Reason) -> ControlSocketError {
            ControlSocketError(reason: reason, description: "")
        }
        for error in [
            StoreError.full(path: ""), StoreError.readOnly(path: ""), StoreError.io(path: "", reason: ""),
            StoreError.corrupt(path: "", reason: ""), StoreError.logHeld(path: ""),
            StoreError.wrongMachineKey(path: ""), StoreError.anchorUnusable(path: "", reason: ""),
            BoltJournal.Failure.io(call: "fdatasync", code: EIO), BoltJournal.Failure.inUse,
            socket(.unusable), TransportError(.busy, ""), TransportError(.notFound, ""), Failure(.state, ""),
            Failure(.transport, ""),
        ] as [any Error] {
            #expect(RestartBackOff.isLasting(error), "\(error)")
        }
        for error in [
            StoreError.identityClaimed(path: "", pid: 7), StoreError.busy(path: ""), socket(.alreadyRunning),
            socket(.misconfigured), Failure(.configuration, ""), Failure(.refused, ""), Failure(.usage, ""), Stranger(),
        ] as [any Error] {
            #expect(!RestartBackOff.isLasting(error), "\(error)")
        }
    }

    /// The unit's runtime directory, which knows how many ends were in a row.
    private struct Row {
        let directory: String
        let role: String

        init(_ role: String, in bench: Bench) throws {
            (directory, self.role) = (bench.path("run"), role)
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }

        private var file: String { "\(directory)/\(role).ends" }
        var count: String { (try? String(contentsOfFile: file, encoding: .utf8)) ?? "" }
        var environment: [String: String] { ["RUNTIME_DIRECTORY": directory] }

        /// As many ends were in a row just now: the wait of the next one is longer than a test.
        func set(_ ends: Int) throws {
            try "\(ends) \(latch_boottime_nanoseconds())".write(toFile: file, atomically: false, encoding: .utf8)
        }
    }

    /// A lock, or a key, whose database is of a newer version: the disk is sound, and no restart mends it.
    private struct Home {
        let bench: Bench
        let role: String
        let state: String
        let row: Row

        init(_ role: String, _ state: String) throws {
            (self.role, self.state) = (role, state)
            bench = try Bench()
            #expect(try bench.start(role, state).end() == 0)
            row = try Row(role, in: bench)
        }

        func execute(_ sql: String) throws {
            var handle: OpaquePointer?
            try #require(sqlite3_open(bench.path(state) + "/latch.sqlite", &handle) == SQLITE_OK)
            defer { sqlite3_close(handle) }
            try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        }

        func spoil() throws {
            try execute(
                """
                INSERT INTO schema_migration
                SELECT component, max(ordinal) + 1, 'from the future' FROM schema_migration WHERE component = 'lock'
                """)
        }

        func launch() throws -> Daemon {
            try Daemon(bench.arguments(role, state, logLevel: "warning"), environment: row.environment)
        }
    }

    @Test(
        "ends at once three times, then waits, and goes when it is told to",
        arguments: [("peripheral", "lock"), ("central", "key")])
    func waiting(role: String, state: String) throws {
        let home = try Home(role, state)
        try home.spoil()
        for number in 1...3 {
            let daemon = try home.launch()
            #expect(daemon.end(signalling: false) == ExitCode.state.rawValue)
            let complaint = daemon.complaint
            #expect(complaint.contains("newer version") && !complaint.contains("restart_waits"), "\(complaint)")
            #expect(home.row.count.hasPrefix("\(number) "))
        }
        try home.row.set(40)
        let daemon = try home.launch()
        #expect(latchTests.waits { home.row.count.hasPrefix("41 ") })
        #expect(daemon.isRunning)
        #expect(daemon.end() == ExitCode.state.rawValue)
        #expect(daemon.complaint.contains("restart_waits"))
    }

    @Test("a relock that falls due while it waits is made")
    func relock() throws {
        let home = try Home("peripheral", "lock")
        let lock = try home.bench.start("peripheral", "lock")
        let key = try home.bench.start("central", "key")
        try home.bench.enroll("anna")
        try home.bench.succeed("central", "unlock", "key")
        lock.kill()
        key.kill()
        try home.execute("UPDATE lock_state SET relock_at = \(latch_boottime_nanoseconds() + 2_000_000_000)")
        try home.spoil()
        try home.row.set(40)
        let metal = { try String(contentsOfFile: home.bench.path("lock") + "/bolt.journal", encoding: .utf8) }
        #expect(try metal().hasSuffix(" unlock\n"))
        let daemon = try home.launch()
        #expect(try latchTests.waits { try metal().hasSuffix(" lock\n") })
        #expect(daemon.isRunning && home.row.count.hasPrefix("41 "))
        #expect(daemon.end() == ExitCode.state.rawValue)
    }

    @Test(
        "A bolt's journal that fails ends the lock as any disk does: it waits, says why in words, and no file says how the door stood"
    )
    func boltJournal() throws {
        let bench = try Bench(withRadio: false)
        let row = try Row("peripheral", in: bench)
        try row.set(40)
        let metrics = bench.path("metrics.prom")
        let file = try bench.directory.write("[metrics]\nfile = \"\(metrics)\"\n", to: "lock.conf")
        let lock = try Daemon(
            bench.arguments("peripheral", "lock", logLevel: "warning") + ["--config", file],
            environment: row.environment)
        #expect(try latchTests.waits { try bench.latch("peripheral", "status", "lock").status == 0 })
        #expect(latchTests.waits { FileManager.default.fileExists(atPath: metrics) })
        let failing = try FailingCalls("fdatasync:error=EIO", of: lock, at: bench.path("lock/bolt.journal"))
        #expect(try bench.latch("peripheral", "unlock", "lock").status != 0)
        #expect(latchTests.waits { row.count.hasPrefix("41 ") || !lock.isRunning })
        #expect(!FileManager.default.fileExists(atPath: metrics))
        Self.expectWait(row, lock, for: "the bolt's journal: fdatasync: Input/output error")
        withExtendedLifetime(failing) {}
    }

    @Test("A configuration that cannot be read at present is waited for, too", arguments: ["peripheral", "central"])
    func unreadableConfiguration(role: String) throws {
        let bench = try Bench(withRadio: false)
        let row = try Row(role, in: bench)
        try row.set(40)
        // The kernel has an error of input for whoever reads the first page of himself.
        let daemon = try Daemon([role, "run", "--config", "/proc/self/mem"], environment: row.environment)
        Self.expectWait(row, daemon, for: "/proc/self/mem cannot be read: Input/output error")
    }

    @Test(
        "An operator's program that the system cannot look at for a while is no wrong configuration; one that is not there is"
    )
    func programUnseen() throws {
        let bench = try Bench(withRadio: false)
        let hook = bench.path("hook")
        let file = try bench.directory.write("[alarms]\nhook = \"\(hook)\"\n", to: "lock.conf")
        let launch = bench.arguments("peripheral", "lock") + ["--config", file]
        for (error, status) in [("EIO", ExitCode.state), ("ENOMEM", .state), ("ENOENT", .configuration)] {
            let outcome = try Program.run(
                [
                    "-f", "-o", "/dev/null", "-P", hook, "-e", "trace=%%stat", "-e", "inject=%%stat:error=\(error)",
                    Program.path,
                ] + launch, of: "/usr/bin/strace")
            #expect(outcome.status == status.rawValue, "\(error): \(outcome)")
            #expect(outcome.errors.contains("key `hook` in section [alarms] of \(file)"), "\(outcome.errors)")
        }
    }

    /// Far down in the row, a launch says why it waits, and goes when it is told to.
    private static func expectWait(_ row: Row, _ daemon: Daemon, for reason: String) {
        #expect(waits { row.count.hasPrefix("41 ") || !daemon.isRunning })
        #expect(daemon.isRunning)
        #expect(daemon.end() == ExitCode.state.rawValue)
        let complaint = daemon.complaint
        #expect(complaint.contains("restart_waits") && complaint.contains(reason), "\(complaint)")
    }

    @Test(
        "A state directory that is not there is waited for, too, though nothing of the daemon has begun",
        arguments: ["peripheral", "central"])
    func noDirectory(role: String) throws {
        let bench = try Bench(withRadio: false)
        let row = try Row(role, in: bench)
        try row.set(40)
        let daemon = try Daemon(
            bench.arguments(role, "gone", logLevel: "warning"), environment: row.environment)
        Self.expectWait(row, daemon, for: bench.path("gone"))
    }

    @Test("A user's own state directory that cannot be made is waited for, too")
    func unmakeableDirectory() throws {
        let bench = try Bench(withRadio: false)
        let row = try Row("central", in: bench)
        try row.set(40)
        let file = bench.path("file")
        try "".write(toFile: file, atomically: true, encoding: .utf8)
        let daemon = try Daemon(
            ["central", "run"],
            environment: row.environment.merging(["HOME": bench.path("home"), "XDG_STATE_HOME": file]) { $1 })
        Self.expectWait(row, daemon, for: "\(file)/latch-key")
    }
}
