import CLinux
import CSQLite
import CommandInterface
import Foundation
import Glibc
import Testing

@testable import latch

/// What the bolt is owed comes before everything else that a launch loads or waits for.
@Suite("A launch and its bolt", .serialized)
struct BoltFirstTests {
    /// A lock whose key has opened, with a relock that is due since, and no process.
    private final class Home {
        let bench: Bench
        private let key: Daemon

        init() throws {
            bench = try Bench()
            let configuration = try bench.directory.write("[lock]\nrelock_seconds = 3600\n", to: "lock.conf")
            let lock = try bench.start("peripheral", "lock", ["--config", configuration])
            key = try bench.start("central", "key")
            try bench.enroll("anna")
            try bench.succeed("central", "unlock", "key")
            lock.kill()
            try execute("UPDATE lock_state SET relock_at = 1")
            #expect(try lastMovement() == "unlock")
        }

        func execute(_ sql: String) throws {
            var handle: OpaquePointer?
            try #require(sqlite3_open(bench.path("lock/latch.sqlite"), &handle) == SQLITE_OK)
            defer { sqlite3_close(handle) }
            try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        }

        func lastMovement() throws -> String? {
            try String(contentsOfFile: bench.path("lock/bolt.journal"), encoding: .utf8)
                .split(whereSeparator: \.isWhitespace).last.map(String.init)
        }
    }

    @Test("Another restore_id and a controller that never answers: the relock is made all the same")
    func silentController() throws {
        let home = try Home()
        home.bench.unplug()
        unlink(home.bench.path("air"))
        let listener = try home.bench.listen()
        defer { close(listener) }
        let lock = try Daemon(home.bench.arguments("peripheral", "lock") + ["--restore-id", "another"])
        #expect(try waits { try home.lastMovement() == "lock" })
        #expect(lock.isRunning)
        lock.kill()
    }

    @Test("Another restore_id and a controller that never answers: a relock that falls due later is made in its time")
    func silentControllerLater() throws {
        let home = try Home()
        try home.execute("UPDATE lock_state SET relock_at = \(latch_boottime_nanoseconds() + 3_000_000_000)")
        home.bench.unplug()
        unlink(home.bench.path("air"))
        let listener = try home.bench.listen()
        defer { close(listener) }
        let lock = try Daemon(home.bench.arguments("peripheral", "lock") + ["--restore-id", "another"])
        #expect(try waits { try home.lastMovement() == "lock" })
        #expect(lock.isRunning)
        lock.kill()
    }

    @Test("Another setting in the file, and a relock that is due: the relock is made, and the lock lets its key in")
    func otherSettings() throws {
        let home = try Home()
        let configuration = try home.bench.directory.write("[lock]\nrelock_seconds = 1800\n", to: "lock.conf")
        let lock = try home.bench.start("peripheral", "lock", ["--config", configuration])
        // The journal has a movement from its begin on, and until its end the lock is busy.
        #expect(try waits { try home.bench.latch("peripheral", "status", "lock").output.contains("bolt: locked") })
        let unlocked = try home.bench.latch("central", "unlock", "key")
        #expect(unlocked.status == 0, "\(unlocked)")
        #expect(try home.lastMovement() == "unlock")
        #expect(lock.end() == 0)
    }

    @Test("Nothing of the host is read before the bolt is told: what breaks in between is found behind it")
    func order() throws {
        let home = try Home()
        var settings = PeripheralSettings()
        settings.daemon.transport = "unix:" + home.bench.path("air")
        settings.daemon.stateDirectory = home.bench.path("lock")
        settings.daemon.logLevel = "error"
        let duty = try BoltDuty(
            DaemonHoldings(DaemonPlan(settings.daemon, role: .peripheral), manager: nil), settings)
        var found: String?
        let error = #expect(throws: (any Error).self) {
            _ = try DaemonRuntime(duty.holdings, deviceName: "Front") { state, boot, journal in
                try duty.begin(state, boot, journal)
                found = try home.lastMovement()
                try home.execute("UPDATE host_identity SET irk = zeroblob(length(irk))")
            }
        }
        #expect(found == "lock")
        #expect(error.map { Failure($0).message.contains("host_identity") } == true, "\(String(describing: error))")
    }

    @Test("A large file with a fault that no launch looks for first: the door is secured by its rules, and on record")
    func largeFile() throws {
        let home = try Home()
        // More than a launch checks, and an end of it that leads nowhere.
        try home.execute("CREATE TABLE filler (octets BLOB); INSERT INTO filler VALUES (zeroblob(2097152))")
        let path = home.bench.path("lock/latch.sqlite")
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        try file.seek(toOffset: try file.seekToEnd() - 4_096)
        try file.write(contentsOf: Data(repeating: 0xFF, count: 64))
        try file.close()
        let check = try home.bench.latch("state", "check", "lock")
        try #require(check.status == ExitCode.state.rawValue, "\(check)")
        var settings = PeripheralSettings()
        settings.daemon.transport = "unix:" + home.bench.path("air")
        settings.daemon.stateDirectory = home.bench.path("lock")
        settings.daemon.logLevel = "error"
        let duty = try BoltDuty(
            DaemonHoldings(DaemonPlan(settings.daemon, role: .peripheral), manager: nil), settings)
        duty.secure(after: Failure(.transport, "no controller"))
        #expect(try home.lastMovement() == "lock")
        let audit = try home.bench.latch("audit", "list", "lock", ["--limit", "0"])
        #expect(audit.output.contains("securing"), "\(audit)")
    }

    @Test("A bolt's row that cannot be read locks the door, is told, and costs nobody's key")
    func lostRow() throws {
        let home = try Home()
        try home.execute("UPDATE lock_state SET position = 77, relock_boot = NULL, relock_at = NULL")
        let arguments = home.bench.arguments("peripheral", "lock", logLevel: "info")
        let lock = try Daemon(arguments)
        #expect(try waits { try home.lastMovement() == "lock" })
        #expect(try waits { try home.bench.latch("peripheral", "status", "lock").output.contains("bolt: locked") })
        try home.bench.succeed("central", "unlock", "key")
        #expect(lock.end() == 0)
        let told = lock.complaint
        #expect(told.contains("row_damaged") && told.contains("lock_state"), "\(told)")
        let again = try Daemon(arguments)
        #expect(try waits { try home.bench.latch("peripheral", "status", "lock").output.contains("radio: on") })
        #expect(again.end() == 0)
        #expect(!again.complaint.contains("row_damaged"))
    }
}
