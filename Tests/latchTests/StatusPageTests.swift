import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CSQLite
import CommandInterface
import DaemonControl
import Foundation
import LockPeripheral
import LockPersistence
import LockProtocol
import SecurityManager
import StatePersistence
import Testing

@testable import latch

/// A lock says whom it knows in pages, however many they are.
@Suite("Daemons: a lock's status in pages", .serialized)
struct StatusPageTests {
    /// A lock whose database has these credentials, by their numbers, and bonds that wait for their key.
    private static func lock(
        _ bench: Bench, credentials: [Int: String], users: [Int: String] = [:], waiting: Range<Int64> = 0..<0
    ) throws -> Daemon {
        let directory = bench.path("lock")
        let store = try StateStore(
            path: directory + "/latch.sqlite", machineKeyFile: directory + "/machine.key", credentialsDirectory: nil,
            components: [.host, .lock, .key])
        // As an earlier version left them: the first launch seals what it finds.
        var handle: OpaquePointer?
        try #require(sqlite3_open(directory + "/latch.sqlite", &handle) == SQLITE_OK)
        let rows = credentials.map { number, name in
            let user = users[number].map { "'\($0)'" } ?? "NULL"
            return "INSERT INTO lock_credential VALUES "
                + "(\(number), '\(name)', 2, 1, \(number), NULL, NULL, NULL, NULL, \(user), NULL);"
        }
        try #require(sqlite3_exec(handle, "BEGIN; \(rows.joined()) COMMIT", nil, nil, nil) == SQLITE_OK)
        sqlite3_close(handle)
        let host = SQLiteHostStore(store, name: StateDirectory.Role.peripheral.rawValue)
        for number in waiting {
            host.append(
                .bond(
                    .upsert(
                        Bond(
                            id: BondID(number + 1),
                            identity: IdentityAddress(
                                DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | UInt64(number))),
                            peerIRK: SystemRandom.secret(), ltk: SystemRandom.secret(),
                            localCSRK: SystemRandom.secret(),
                            remoteCSRK: SystemRandom.secret(), model: .outOfBand, state: .unconfirmed,
                            credential: "waiting \(number)"))))
        }
        try store.database.commit([host])
        return try bench.start("peripheral", "lock")
    }

    private static func status(_ bench: Bench, _ more: [String] = []) throws -> JSONObject {
        let outcome = try bench.latch("peripheral", "status", "lock", ["--json"] + more)
        try #require(outcome.status == 0, "\(outcome)")
        let line = try JSONValue(line: Array(outcome.output.utf8.prefix { $0 != UInt8(ascii: "\n") }))
        return try #require(line.object?["result"]?.object)
    }

    private static func names(_ status: JSONObject) -> [String] {
        (status["credentials"]?.array ?? []).compactMap { $0.object?["name"]?.string }
    }

    @Test("Ten thousand credentials: each is told once, by name, and a page has as many as was asked for")
    func tenThousand() throws {
        let bench = try Bench()
        let all = Dictionary(uniqueKeysWithValues: (1...10_000).map { ($0, "user \(($0 &* 7_919) % 10_007)") })
        let lock = try Self.lock(bench, credentials: all)
        let status = try Self.status(bench)
        #expect(Self.names(status) == all.values.sorted())
        #expect(status["next"] == nil)
        let page = try Self.status(bench, ["--limit", "20"])
        #expect(Self.names(page) == (1...20).compactMap { all[$0] })
        let cursor = try #require(page["next"]?.string)
        let next = try Self.status(bench, ["--limit", "20", "--after", cursor])
        #expect(Self.names(next) == (21...40).compactMap { all[$0] })
        #expect(try bench.latch("peripheral", "status", "lock", ["--limit", "101"]).status == ExitCode.usage.rawValue)
        #expect(lock.end() == 0)
    }

    @Test(
        "A full page is the last when nobody is left, and one row more is a page of its own", arguments: [99, 100, 101])
    func fullPage(count: Int) throws {
        let bench = try Bench()
        let names = Dictionary(uniqueKeysWithValues: (1...count).map { ($0, "user \($0)") })
        let lock = try Self.lock(bench, credentials: names)
        let page = try Self.status(bench, ["--limit", "100"])
        #expect(Self.names(page).count == min(count, 100))
        #expect((page["next"] != nil) == (count > 100))
        #expect(Self.names(try Self.status(bench)) == names.values.sorted())
        #expect(lock.end() == 0)
    }

    @Test("Bonds that wait for their key come behind the credentials, over the pages' ends")
    func waiting() throws {
        let bench = try Bench()
        let lock = try Self.lock(bench, credentials: [1: "anna", 2: "berta", 3: "carla"], waiting: 0..<4)
        var pages: [JSONObject] = [try Self.status(bench, ["--limit", "2"])]
        while let cursor = pages.last?["next"]?.string {
            pages.append(try Self.status(bench, ["--limit", "2", "--after", cursor]))
            try #require(pages.count < 9)
        }
        let rows = pages.map { page in
            Self.names(page)
                + (page["unconfirmed"]?.array ?? []).compactMap { $0.object?["credential"]?.string }
        }
        #expect(rows == [["anna", "berta"], ["carla", "waiting 0"], ["waiting 1", "waiting 2"], ["waiting 3"]])
        #expect(lock.end() == 0)
    }

    @Test("A cursor whose credential is gone goes on behind its place, and what is none is refused")
    func goneCursor() throws {
        let bench = try Bench()
        let lock = try Self.lock(bench, credentials: [1: "anna", 2: "berta", 3: "carla"])
        let cursor = try #require(try Self.status(bench, ["--limit", "2"])["next"]?.string)
        try bench.succeed("peripheral", "remove", "lock", ["--credential", "berta"])
        #expect(Self.names(try Self.status(bench, ["--after", cursor])) == ["carla"])
        for text in ["x2", "c", "c+2", "c02", "2", "c10000000000000000"] {
            let outcome = try bench.latch("peripheral", "status", "lock", ["--after", text])
            #expect(outcome.status == ExitCode.refused.rawValue && outcome.errors.contains("\"after\""), "\(outcome)")
        }
        #expect(lock.end() == 0)
    }

    @Test("A page of users ends before it has more devices than a line takes, and all pages are one table")
    func manyDevices() throws {
        let bench = try Bench()
        let numbers = 0..<120
        let names = Dictionary(uniqueKeysWithValues: numbers.map { ($0 + 1, "key \($0)") })
        let users = Dictionary(uniqueKeysWithValues: numbers.map { ($0 + 1, "user \(100 + $0 / 10)") })
        let lock = try Self.lock(bench, credentials: names, users: users)
        func page(_ more: [String]) throws -> (users: [String], next: String?) {
            let outcome = try bench.latch("peripheral", "users", "lock", ["--json"] + more)
            let line = try JSONValue(line: Array(outcome.output.utf8.prefix { $0 != UInt8(ascii: "\n") }))
            let result = try #require(line.object?["result"]?.object)
            let users = (result["users"]?.array ?? []).compactMap { $0.object?["user"]?.string }
            return (users, result["next"]?.string)
        }
        #expect(try page(["--limit", "50"]) == ((100...104).map { "user \($0)" }, "user 104"))
        #expect(try page(["--limit", "50", "--after", "user 109"]) == (["user 110", "user 111"], nil))
        #expect(try page(["--limit", "5"]).next == "user 104")
        #expect(try page([]) == ((100...111).map { "user \($0)" }, nil))
        let table = try bench.latch("peripheral", "users", "lock").output.split(separator: "\n")
        #expect(table.count == 121 && table.count { $0.hasPrefix("USER") } == 1)
        #expect(lock.end() == 0)
    }

    @Test("The longest names there are, each octet of them an escape, fit a page")
    func longNames() throws {
        let bench = try Bench()
        let name = String(repeating: "\u{1}", count: CredentialRecord.nameOctetsMaximum - 3)
        let names = Dictionary(uniqueKeysWithValues: (100...299).map { ($0, name + "\($0)") })
        let lock = try Self.lock(bench, credentials: names)
        #expect(Self.names(try Self.status(bench)) == names.values.sorted())
        #expect(lock.end() == 0)
    }
}
