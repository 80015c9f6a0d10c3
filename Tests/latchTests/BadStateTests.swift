import CSQLite
import CommandInterface
import Foundation
import Glibc
import Testing

@testable import latch

/// The real binary on databases and directories that something has happened to: one line that says what and what to do,
/// the status that means it, and every octet as it was.
@Suite("State that cannot be used", .serialized)
struct BadStateTests {
    enum Damage: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case flippedPages, truncated, empty, garbage, newerVersion, otherKey, noKey, shortKey
        case openDatabase, openKey

        var testDescription: String { rawValue }

        /// What the line says.
        var says: String {
            switch self {
            case .flippedPages, .truncated: "corrupt"
            case .empty, .garbage: "not a database"
            case .newerVersion: "newer version"
            case .otherKey: "another machine key"
            case .noKey: "machine key is missing"
            case .shortKey: "exactly 32 octets"
            case .openDatabase, .openKey: "chmod 0600"
            }
        }

        var isOfTheKey: Bool {
            switch self {
            case .otherKey, .noKey, .shortKey, .openKey: true
            default: false
            }
        }
    }

    /// A daemon has run there and ended; nothing is left in the log.
    private static func used(_ bench: Bench, _ role: String, _ state: String) throws {
        let daemon = try bench.start(role, state)
        #expect(daemon.end() == 0)
        try execute("PRAGMA wal_checkpoint(TRUNCATE)", bench.path(state) + "/latch.sqlite")
        for ending in ["-wal", "-shm"] { unlink(bench.path(state) + "/latch.sqlite" + ending) }
    }

    private static func execute(_ sql: String, _ path: String) throws {
        var handle: OpaquePointer?
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
        defer { sqlite3_close(handle) }
        try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    }

    private static func inflict(_ damage: Damage, on directory: String) throws {
        let database = URL(fileURLWithPath: directory + "/latch.sqlite")
        let key = URL(fileURLWithPath: directory + "/machine.key")
        var octets = try Data(contentsOf: database)
        switch damage {
        case .flippedPages:
            // The header of every page but the first.
            for page in stride(from: 4_096, to: octets.count, by: 4_096) { octets[page] ^= 0xFF }
            try octets.write(to: database)
        case .truncated: try octets.prefix(octets.count / 2).write(to: database)
        case .empty: try Data().write(to: database)
        case .garbage: try Data(repeating: 0x5A, count: octets.count).write(to: database)
        case .newerVersion:
            try execute(
                """
                INSERT INTO schema_migration
                SELECT component, max(ordinal) + 1, 'from the future' FROM schema_migration WHERE component = 'lock'
                """, database.path)
        case .otherKey: try Data(repeating: 7, count: 32).write(to: key)
        case .noKey: unlink(key.path)
        case .shortKey: try Data(repeating: 7, count: 31).write(to: key)
        case .openDatabase: chmod(database.path, 0o644)
        case .openKey: chmod(key.path, 0o644)
        }
        if damage != .openDatabase { chmod(database.path, 0o600) }
        if damage != .openKey { chmod(key.path, 0o600) }
    }

    /// Every file that holds something, by name.
    private static func contents(_ directory: String) throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in ["latch.sqlite", "machine.key", "bolt.journal"] {
            contents[name] = try? Data(contentsOf: URL(fileURLWithPath: directory + "/" + name))
        }
        return contents
    }

    private static func expectRefused(_ outcome: Program.Outcome, _ says: String) {
        #expect(outcome.status == ExitCode.state.rawValue)
        #expect(outcome.errorLines.count == 1, "\(outcome.errors)")
        #expect(outcome.errors.contains(says), "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
    }

    @Test("damage is said, and nothing is made worse", arguments: ["peripheral", "central"])
    func damaged(role: String) throws {
        let state = role == "peripheral" ? "lock" : "key"
        let bench = try Bench()
        try Self.used(bench, role, state)
        let sound = bench.path("sound")
        try FileManager.default.copyItem(atPath: bench.path(state), toPath: sound)
        for damage in Damage.allCases {
            try FileManager.default.removeItem(atPath: bench.path(state))
            try FileManager.default.copyItem(atPath: sound, toPath: bench.path(state))
            try Self.inflict(damage, on: bench.path(state))
            let before = try Self.contents(bench.path(state))
            Self.expectRefused(try Program.run(bench.arguments(role, state)), damage.says)
            if !damage.isOfTheKey { Self.expectRefused(try bench.latch("state", "check", state), damage.says) }
            #expect(try Self.contents(bench.path(state)) == before, "\(damage)")
        }
    }

    /// So many rows that a launch does not wait until all of them have been looked at, and the last page damaged.
    private static func damageLate(_ directory: String) throws {
        let path = directory + "/latch.sqlite"
        try execute(
            """
            INSERT INTO lock_bond (bond, challenge, sign_counter, result, phase)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 80000) SELECT i, i, 1, 0, 0 FROM n;
            PRAGMA wal_checkpoint(TRUNCATE)
            """, path)
        for ending in ["-wal", "-shm"] { unlink(path + ending) }
        var octets = try Data(contentsOf: URL(fileURLWithPath: path))
        octets.replaceSubrange(octets.count - 4_096..<octets.count - 4_032, with: Data(repeating: 0xFF, count: 64))
        try octets.write(to: URL(fileURLWithPath: path))
        chmod(path, 0o600)
    }

    @Test("damage that is found behind the launch ends the daemon; the next launch is refused")
    func damagedLate() throws {
        let bench = try Bench()
        try Self.used(bench, "peripheral", "lock")
        try Self.damageLate(bench.path("lock"))
        let found = try Program.run(bench.arguments("peripheral", "lock", logLevel: "info"))
        #expect(found.status == ExitCode.state.rawValue)
        #expect(found.errors.contains("started"), "\(found.errors)")
        #expect(found.errors.contains("corrupt"), "\(found.errors)")
        let refused = try Program.run(bench.arguments("peripheral", "lock"))
        Self.expectRefused(refused, "corrupt")
        Self.expectRefused(try bench.latch("state", "check", "lock"), "corrupt")
    }

    @Test("a disk that is full, and one that cannot be written")
    func disks() throws {
        let bench = try Bench()
        try Self.used(bench, "peripheral", "lock")
        let disk = bench.path("disk")
        mkdir(disk, 0o700)
        try #require(
            mount("tmpfs", disk, "tmpfs", 0, "size=64k,mode=700") == 0, "only root can mount a small disk")
        defer { umount2(disk, Int32(MNT_DETACH)) }
        Self.expectRefused(try Program.run(bench.arguments("peripheral", "disk")), "disk is full")
        umount2(disk, 0)
        #expect(mount("tmpfs", disk, "tmpfs", 0, "size=4m,mode=700") == 0)
        // By a process that is over then: a child that another test forks meanwhile holds what this one has open for writing, and a
        // disk on which something is cannot be made read-only.
        let files = ["latch.sqlite", "machine.key", "bolt.journal"].map { bench.path("lock") + "/" + $0 }
        try #require(try Program.run(["-p"] + files + [disk], of: "/bin/cp").status == 0)
        let before = try Self.contents(disk)
        let remount = UInt(MS_REMOUNT | MS_RDONLY)
        #expect(mount("tmpfs", disk, "tmpfs", remount, nil) == 0)
        Self.expectRefused(try Program.run(bench.arguments("peripheral", "disk")), "cannot be read and written")
        #expect(try Self.contents(disk) == before)
    }

    @Test("another user's directory", arguments: ["peripheral run --transport unix:x", "state check", "state inspect"])
    func othersDirectory(words: String) throws {
        try #require(geteuid() == 0, "only root can become another user")
        let directory = try TemporaryDirectory()
        let command = words.split(separator: " ").map(String.init) + ["--state", directory.path]
        let outcome = try Program.run(
            ["--reuid=65534", "--regid=65534", "--clear-groups", Program.path] + command, of: "/usr/bin/setpriv")
        Self.expectRefused(outcome, "run as its owner")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }

    @Test("a database may be named without its directory, and one of the two must be")
    func databaseAlone() throws {
        let bench = try Bench()
        try Self.used(bench, "central", "key")
        let database = bench.path("key") + "/latch.sqlite"
        for command in ["check", "inspect"] {
            let outcome = try Program.run(["state", command, "--database", database, "--json"])
            #expect(outcome.status == 0, "\(outcome.errors)")
            for line in outcome.output.split(separator: "\n") {
                #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(line.utf8)) }
            }
            let nothing = try Program.run(["state", command])
            #expect(nothing.status == ExitCode.usage.rawValue)
            #expect(nothing.errors.contains("--database FILE"))
        }
    }
}
