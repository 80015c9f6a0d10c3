import FaultDisk
import Glibc
import TestSupport
import Testing

@testable import StatePersistence

/// One thing that is wrong with a file, and what is said of it.
struct Fault: CustomTestStringConvertible {
    var testDescription: String
    /// Whether the file has a log with commits in it when the fault is made.
    var hasLog = false
    var make: @Sendable (String) throws -> Void
    var isExpected: @Sendable (StoreError) -> Bool

    /// Overwrites octets of the database in place.
    static func overwrite(_ path: String, at offset: Int, with octets: [UInt8]) {
        var all = Scratch.read(path)
        all.replaceSubrange(offset..<min(all.count, offset + octets.count), with: octets)
        Scratch.write(all, to: path)
    }

    static let all: [Fault] = [
        Fault(testDescription: "its first octet flipped") {
            overwrite($0, at: 0, with: [0xAC])
        } isExpected: {
            if case .notADatabase = $0 { true } else { false }
        },
        Fault(testDescription: "the root of its schema overwritten") {
            overwrite($0, at: 100, with: [UInt8](repeating: 0xFF, count: 200))
        } isExpected: {
            if case .corrupt = $0 { true } else { false }
        },
        Fault(testDescription: "a page of a table overwritten") {
            let size = Scratch.read($0).count
            overwrite($0, at: size - DatabaseFile.pageOctets, with: [UInt8](repeating: 0xFF, count: 64))
        } isExpected: {
            if case .corrupt = $0 { true } else { false }
        },
        Fault(testDescription: "cut in the middle") {
            Scratch.write(Array(Scratch.read($0).prefix(4_000)), to: $0)
        } isExpected: {
            if case .corrupt = $0 { true } else { false }
        },
        Fault(testDescription: "cut to nothing: it is never taken for a new one") {
            Scratch.write([], to: $0)
        } isExpected: {
            if case .notADatabase = $0 { true } else { false }
        },
        Fault(testDescription: "a text in its place") {
            Scratch.write([UInt8](repeating: UInt8(ascii: "x"), count: 5_000), to: $0)
        } isExpected: {
            if case .notADatabase = $0 { true } else { false }
        },
        Fault(testDescription: "gone, and its log still there", hasLog: true) {
            unlink($0)
        } isExpected: {
            if case .corrupt = $0 { true } else { false }
        },
        Fault(testDescription: "a page overwritten that its log does not replace", hasLog: true) {
            let size = Scratch.read($0).count
            overwrite($0, at: size - DatabaseFile.pageOctets, with: [UInt8](repeating: 0xFF, count: 64))
        } isExpected: {
            if case .corrupt = $0 { true } else { false }
        },
        Fault(testDescription: "another program's") {
            try Connection(path: $0, access: .readWrite).execute(
                "PRAGMA journal_mode = DELETE; PRAGMA application_id = 7")
        } isExpected: {
            if case .foreign = $0 { true } else { false }
        },
        Fault(testDescription: "a newer version's") {
            let connection = try Connection(path: $0, access: .readWrite)
            try connection.execute("INSERT INTO schema_migration VALUES ('test', 2, '2 more')")
            _ = try connection.checkpoint(truncating: true)
        } isExpected: {
            $0.newer == "2 more"
        },
        Fault(testDescription: "a newer version's, which only its log tells", hasLog: true) {
            try Connection(path: $0, access: .readWrite)
                .execute("INSERT INTO schema_migration VALUES ('test', 2, '2 more')")
        } isExpected: {
            $0.newer == "2 more"
        },
        Fault(testDescription: "of a past that never was") {
            try Connection(path: $0, access: .readWrite)
                .execute("UPDATE schema_migration SET name = '1 other' WHERE component = 'test'")
        } isExpected: {
            $0.newer == "1 other"
        },
        Fault(testDescription: "open to others") {
            chmod($0, 0o640)
        } isExpected: {
            if case .tooOpen(_, 0o640, 0o600) = $0 { true } else { false }
        },
        Fault(testDescription: "a link to elsewhere") {
            rename($0, $0 + ".other")
            symlink($0 + ".other", $0)
        } isExpected: {
            if case .unreadable = $0 { true } else { false }
        },
    ]
}

extension StoreError {
    var newer: String? { if case .newerVersion(_, "test", let found) = self { found } else { nil } }
}

@Suite("A file that cannot be used is refused and left as it was")
struct FaultTests {
    let scratch = Scratch()

    @Test(arguments: Fault.all)
    func file(_ fault: Fault) throws {
        do {
            let database = try Database(path: scratch.database, components: [numbersSchema])
            try database.transaction {
                for value in 0..<1_000 {
                    try database.statement("INSERT INTO test_number VALUES (?)").run([SQLValue(value)])
                }
            }
            try database.checkpoint()
        }
        if !fault.hasLog {
            try scratch.dropLog()
        }
        try fault.make(scratch.database)
        let before = scratch.digests
        do {
            _ = try Database(path: scratch.database, components: [numbersSchema])
            Issue.record("opened")
        } catch {
            #expect(fault.isExpected(error), "\(error)")
            #expect("\(error)".hasPrefix(scratch.database + ": "))
            #expect(!"\(error)".contains("\n"))
        }
        #expect(scratch.digests == before)
    }

    @Test("A directory that others may enter, none at all, and a file where it should be")
    func directories() throws {
        let path = scratch.directory + "/a/latch.db"
        func failure() -> StoreError? {
            do throws(StoreError) {
                _ = try Database(path: path, components: [])
                return nil
            } catch {
                return error
            }
        }
        mkdir(scratch.directory + "/a", 0o700)
        chmod(scratch.directory + "/a", 0o750)
        #expect(failure() == .tooOpen(path: scratch.directory + "/a", mode: 0o750, allowed: 0o700))
        #expect("\(failure().map { "\($0)" } ?? "")".hasSuffix("chmod 0700 \(scratch.directory)/a"))
        rmdir(scratch.directory + "/a")
        Scratch.write([1], to: scratch.directory + "/a")
        #expect(failure() == .directoryMissing(path: scratch.directory + "/a"))
        #expect(throws: StoreError.directoryMissing(path: scratch.directory + "/b/c")) {
            try Database(path: scratch.directory + "/b/c/latch.db", components: [])
        }
        #expect(scratch.files == ["a"])
    }

    @Test("A directory that a link leads to is the directory, with its mode; a link that leads nowhere is none")
    func linkedDirectory() throws {
        let (place, link) = (scratch.directory + "/a", scratch.directory + "/link")
        mkdir(place, 0o700)
        #expect(symlink(place, link) == 0)
        let database = try Database(path: link + "/latch.db", components: [numbersSchema])
        try database.insert(1)
        #expect(try Database(path: place + "/latch.db", components: [numbersSchema]).numbers() == [1])
        let claim = try RestoreClaim(identity: "lock", beside: link + "/latch.db")
        #expect(throws: StoreError.identityClaimed(path: place + "/latch.db", pid: getpid())) {
            try RestoreClaim(identity: "lock", beside: place + "/latch.db")
        }
        withExtendedLifetime(claim) {}
        chmod(place, 0o750)
        #expect(throws: StoreError.tooOpen(path: link, mode: 0o750, allowed: 0o700)) {
            try Database(path: link + "/latch.db", components: [numbersSchema])
        }
        chmod(place, 0o700)
        for name in ["latch.db", "latch.db-wal", "latch.db-shm", "latch.db.lock", "latch.db.claim-lock"] {
            unlink(place + "/" + name)
        }
        rmdir(place)
        #expect(throws: StoreError.directoryMissing(path: link)) {
            try Database(path: link + "/latch.db", components: [numbersSchema])
        }
    }

    /// As another user, because nothing is unreadable to root.
    @Test("A directory that may not be entered, and a file that may not be written")
    func permissions() throws {
        try #require(getuid() == 0, "only root can become another user")
        _ = try Database(path: scratch.database, components: [numbersSchema])
        try scratch.dropLog()
        // The build directory need not be open to others, so the helper is run from here. Copied by a process of its own:
        // a child that another test forks just now would hold our descriptor, and a file open for writing cannot be run.
        let helper = scratch.directory + ".helper"
        #expect(try Child(["/bin/cp", Child.products + "/StoreHammer", helper]).wait() == .exited(0))
        chmod(helper, 0o755)
        defer { unlink(helper) }
        let before = scratch.digests
        let stranger = try Child([helper, "--uid", "65534", "open", scratch.database])
        #expect(stranger.lines() == ["\(StoreError.unreadable(path: scratch.database, reason: "Permission denied"))"])
        chown(scratch.directory, 65534, 65534)
        chown(scratch.database, 65534, 65534)
        chown(scratch.database + ".lock", 65534, 65534)
        chmod(scratch.database, 0o400)
        let reader = try Child([helper, "--uid", "65534", "open", scratch.database])
        #expect(reader.lines() == ["\(StoreError.readOnly(path: scratch.database))"])
        #expect(scratch.digests == before)
        chmod(scratch.database, 0o600)
        let owner = try Child([helper, "--uid", "65534", "open", scratch.database])
        #expect(owner.lines() == ["ok"])
    }

    @Test("A disk that fails as a transaction begins is a disk that failed")
    func doubtAtBegin() throws {
        let disk = FaultDisk(scratch.directory)
        let database = try Database(path: scratch.database, components: [numbersSchema])
        let other = try Database(path: scratch.database, components: [numbersSchema])
        // What somebody else has written is read before a transaction begins.
        try other.insert(1)
        disk.fail(.io, calls: 1...1)
        var hasBegun = false
        let error = #expect(throws: StoreError.self) { try database.transaction { hasBegun = true } }
        #expect(disk.hasFailed && !hasBegun)
        let failure = try #require(error)
        #expect(throws: failure) { try database.insert(2) }
        #expect(try other.numbers() == [1])
    }

    @Test("After a disk that failed once, nothing is committed any more")
    func doubt() throws {
        let database = try Database(path: scratch.database, components: [numbersSchema])
        #expect(throws: StoreError.full(path: "x")) { try database.transaction { throw StoreError.full(path: "x") } }
        #expect(throws: StoreError.full(path: "x")) { try database.insert(1) }
        #expect(throws: StoreError.full(path: "x")) { try database.checkpoint() }
    }
}
