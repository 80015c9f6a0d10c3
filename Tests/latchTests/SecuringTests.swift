import CLinux
import CSQLite
import CommandInterface
import Foundation
import Glibc
import TestSupport
import Testing

@testable import latch

/// A relock that is due is made by the running program on disks that fill, starve, turn read-only or hold damage.
@Suite("Daemons: the door is secured whatever becomes of the disk", .serialized)
struct SecuringTests {
    init() throws { try #require(geteuid() == 0, "only root can mount the disks that this takes") }

    enum Trouble: String, CaseIterable, CustomTestStringConvertible {
        /// Nothing fits any more.
        case full
        /// Writes are taken, and their flush fails.
        case starved
        case readOnly
        /// One bond's wrapped keys.
        case alteredBond
        /// Something else stands where the control socket's lock should.
        case noSocket
        /// An operator's `chmod 755`.
        case openDirectory
        case garbage

        var testDescription: String { rawValue }
        /// Whether what secures the door can be written down at once.
        var isWritable: Bool { self == .alteredBond || self == .noSocket }
    }

    /// A lock on a disk of its own, unlocked by a key, with a relock to come.
    private final class Home {
        let bench: Bench
        let journal: String
        let configuration: String
        private let thin: ThinDisk?
        private let small: String?
        var lock: Daemon?
        private let key: Daemon

        init(_ trouble: Trouble, relockSeconds: Int) throws {
            bench = try Bench()
            thin = trouble == .starved || trouble == .readOnly ? try ThinDisk() : nil
            small = trouble == .full ? bench.path("lock") : nil
            if let small { try #require(mount("tmpfs", small, "tmpfs", 0, "size=3m,mode=700") == 0) }
            if let thin { bench.places["lock"] = thin.path }
            // The file stands for the metal, which is not on the state's disk.
            journal = bench.path("metal")
            try Data().write(to: URL(fileURLWithPath: journal))
            configuration = try bench.directory.write(
                "[lock]\nrelock_seconds = \(relockSeconds)\nbolt_journal = \"\(journal)\"\n", to: "lock.conf")
            lock = try Daemon(bench.arguments("peripheral", "lock") + ["--config", configuration])
            let isOn = try waits { [bench] in
                try bench.latch("peripheral", "status", "lock").output.contains("radio: on")
            }
            #expect(isOn)
            key = try bench.start("central", "key")
            try bench.enroll("anna")
            try bench.succeed("central", "unlock", "key")
            #expect(try isLastMovement("unlock"))
        }

        deinit {
            lock = nil
            if let small { umount2(small, Int32(MNT_DETACH)) }
        }

        private var database: String { bench.path("lock") + "/latch.sqlite" }

        func isLastMovement(_ movement: String) throws -> Bool {
            try String(contentsOfFile: journal, encoding: .utf8).hasSuffix(" \(movement)\n")
        }

        func execute(_ sql: String) throws {
            var handle: OpaquePointer?
            try #require(sqlite3_open(database, &handle) == SQLITE_OK)
            defer { sqlite3_close(handle) }
            try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        }

        func inflict(_ trouble: Trouble) throws {
            switch trouble {
            case .full: try fill()
            case .starved: try thin?.starve()
            // The kernel may still be closing what the lock had open.
            case .readOnly:
                let flags = UInt(MS_REMOUNT | MS_RDONLY)
                let isReadOnly = waits { mount(nil, bench.path("lock"), nil, flags, nil) == 0 || errno != EBUSY }
                try #require(isReadOnly && mount(nil, bench.path("lock"), nil, flags, nil) == 0, "errno \(errno)")
            case .alteredBond: try execute("UPDATE host_bond SET keys = zeroblob(length(keys))")
            case .noSocket:
                unlink(bench.path("lock") + "/peripheral.sock.lock")
                try #require(mkdir(bench.path("lock") + "/peripheral.sock.lock", 0o700) == 0)
            case .openDirectory: try #require(chmod(bench.path("lock"), 0o755) == 0)
            case .garbage:
                try #require(rename(database, database + ".away") == 0)
                try Data(repeating: 0x5A, count: 8_192).write(to: URL(fileURLWithPath: database))
                chmod(database, 0o600)
            }
        }

        func repair(_ trouble: Trouble) throws {
            switch trouble {
            case .full: unlink(bench.path("lock") + "/filler")
            case .starved: try thin?.feed()
            case .readOnly: try #require(mount(nil, bench.path("lock"), nil, UInt(MS_REMOUNT), nil) == 0)
            case .alteredBond: try execute("PRAGMA foreign_keys = ON; DELETE FROM host_bond")
            case .noSocket: try #require(rmdir(bench.path("lock") + "/peripheral.sock.lock") == 0)
            case .openDirectory: try #require(chmod(bench.path("lock"), 0o700) == 0)
            case .garbage: try #require(rename(database + ".away", database) == 0)
            }
        }

        private func fill() throws {
            let filler = open(bench.path("lock") + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(filler) }
            let page = [UInt8](repeating: 0, count: 4_096)
            while write(filler, page, page.count) > 0 {}
            #expect(errno == ENOSPC)
        }

        /// Launches, and returns once the bolt was moved; whether the daemon runs then.
        func launchUntil(_ movement: String) throws -> Bool {
            let launched = try Daemon(bench.arguments("peripheral", "lock") + ["--config", configuration])
            lock = launched
            #expect(try waits { try isLastMovement(movement) && (isRunning || !launched.isRunning) })
            return isRunning
        }

        /// The metal moves as an earlier process had it move when it could write nothing.
        func moveUnrecorded() throws {
            let last = try #require(String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n").last)
            let sequence = try #require(last.split(separator: " ").first.flatMap { Int($0) })
            let file = try #require(FileHandle(forWritingAtPath: journal))
            try file.seekToEnd()
            let now = latch_boottime_nanoseconds()
            try file.write(contentsOf: Data("\(sequence + 1) \(now) 1 0 - lock\n".utf8))
        }

        /// Whether the lock answers.
        var isRunning: Bool { (try? bench.latch("peripheral", "status", "lock").status) == 0 }

        /// The next launch runs, and what it writes down is returned.
        func recover() throws -> String {
            let words = Array(bench.arguments("peripheral", "lock", logLevel: "info")) + ["--config", configuration]
            let recovered = try Daemon(words)
            let isLocked = try waits { [bench] in
                try bench.latch("peripheral", "status", "lock").output.contains("bolt: locked")
            }
            let (status, complaint) = (recovered.end(), recovered.complaint)
            #expect(isLocked && status == 0, "\(complaint)")
            #expect(try bench.latch("state", "check", "lock").output.contains("faults: []"))
            return complaint
        }
    }

    @Test("Found at a launch: the relock is made at once, and told when it can be", arguments: Trouble.allCases)
    func launched(_ trouble: Trouble) throws {
        let home = try Home(trouble, relockSeconds: 3_600)
        home.lock?.kill()
        try home.execute("UPDATE lock_state SET relock_at = 1")
        try home.inflict(trouble)
        let runs = try home.launchUntil("lock")
        // What is written there may find blocks that the medium has: then a starved disk is as good as any, for a while. A
        // damaged bond costs its own key.
        #expect(runs == (trouble == .alteredBond) || trouble == .starved)
        if !runs { #expect(home.lock?.end(signalling: false) == ExitCode.state.rawValue) }
        home.lock?.kill()
        try home.repair(trouble)
        let told = try home.recover()
        if trouble != .starved { #expect(told.contains("what=secured_unrecorded") == !trouble.isWritable, "\(told)") }
        #expect(try home.isLastMovement("lock"))
    }

    @Test("Killed while it secured: the next launch finds the bolt locked and tells it once, and no later one does")
    func killedWhileSecuring() throws {
        let home = try Home(.full, relockSeconds: 3_600)
        home.lock?.kill()
        try home.moveUnrecorded()
        let told = try home.recover()
        #expect(told.components(separatedBy: "what=secured_unrecorded").count == 2, "\(told)")
        #expect(!told.contains("bolt=unknown") && !told.contains("recovering=true"), "\(told)")
        #expect(try !home.recover().contains("what=secured_unrecorded"))
    }

    @Test("While it runs: the relock falls due on a disk that takes nothing", arguments: [Trouble.full, .starved])
    func running(_ trouble: Trouble) throws {
        let home = try Home(trouble, relockSeconds: 5)
        let lock = try #require(home.lock)
        // The time in which the disk gets into trouble does not count.
        Glibc.kill(lock.pid, SIGSTOP)
        #expect(try home.isLastMovement("unlock"))
        try home.inflict(trouble)
        Glibc.kill(lock.pid, SIGCONT)
        #expect(try waits { try home.isLastMovement("lock") })
        // As above: a commit may find its blocks.
        #expect(!home.isRunning || trouble == .starved)
        if trouble == .full { #expect(lock.end(signalling: false) == ExitCode.state.rawValue) }
        lock.kill()
        try home.repair(trouble)
        let told = try home.recover()
        if trouble == .full { #expect(told.contains("what=secured_unrecorded"), "\(told)") }
    }

    @Test(
        "Damage, and a disk that cannot be written, take nothing from a bolt that owes nothing",
        arguments: [Trouble.readOnly, .alteredBond])
    func notDue(_ trouble: Trouble) throws {
        let home = try Home(trouble, relockSeconds: 3_600)
        home.lock?.kill()
        try home.inflict(trouble)
        let runs = try home.launchUntil("unlock")
        #expect(runs == (trouble == .alteredBond))
        let lock = try #require(home.lock)
        #expect(lock.end(signalling: runs) == (runs ? 0 : ExitCode.state.rawValue))
        #expect(lock.complaint.contains("row_damaged") == runs)
        #expect(try home.isLastMovement("unlock"))
    }
}
