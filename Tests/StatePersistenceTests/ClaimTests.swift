import BluetoothHost
import Glibc
import TestSupport
import Testing

@testable import StatePersistence

@Suite("Claims to identities")
struct ClaimTests {
    let scratch = Scratch()

    @Test("One at a time, by identity, until the holder is gone")
    func claims() throws {
        var first: RestoreClaim? = try RestoreClaim(identity: "lock", beside: scratch.database)
        #expect(throws: StoreError.identityClaimed(path: scratch.database, pid: getpid())) {
            try RestoreClaim(identity: "lock", beside: scratch.database)
        }
        let key = try RestoreClaim(identity: "key", beside: scratch.database)
        withExtendedLifetime((first, key)) {}
        first = nil
        _ = try RestoreClaim(identity: "lock", beside: scratch.database)
        #expect(scratch.files.count == 2)
        #expect(scratch.files.allSatisfy { Scratch.mode(scratch.directory + "/" + $0) == 0o600 })
    }

    @Test("What is released can be claimed at once, though a process that was forked just now has it open still")
    func releaseBesideAFork() throws {
        var first: RestoreClaim? = try RestoreClaim(identity: "lock", beside: scratch.database)
        let forked = ForkedDescriptors(ofFile: scratch.database + ".claim-lock")
        #expect(forked.copies.count == (first == nil ? 0 : 1))
        first = nil
        _ = try RestoreClaim(identity: "lock", beside: scratch.database)
    }

    @Test("The refusal names the file and the process, and advises nothing that runs both on one file")
    func message() throws {
        let error = StoreError.identityClaimed(path: "/x/latch.sqlite", pid: 42)
        #expect(
            "\(error)" == "/x/latch.sqlite: in use by process 42; stop that process, or choose another state directory")
    }

    @Test("Another way to the same directory leads to the same claim")
    func sameFile() throws {
        let claim = try RestoreClaim(identity: "lock", beside: scratch.database)
        let parts = scratch.directory.split(separator: "/")
        let (parent, name) = (parts.dropLast().reduce("") { $0 + "/" + $1 }, parts.last ?? "")
        let link = scratch.directory + "/link"
        #expect(symlink(parent, link) == 0)
        for detour in ["\(link)/\(name)/latch.db", "\(scratch.directory)/../\(name)/latch.db"] {
            #expect(throws: StoreError.identityClaimed(path: detour, pid: getpid())) {
                try RestoreClaim(identity: "lock", beside: detour)
            }
        }
        withExtendedLifetime(claim) {}
    }

    private let grown = SchemaComponent(
        "test", numbersSchema.migrations + [Migration("2 more", "ALTER TABLE test_number ADD COLUMN more INTEGER")])

    private var impatient: DatabaseLimits {
        var limits = DatabaseLimits()
        limits.openWaitMilliseconds = 50
        return limits
    }

    @Test(
        "Beside an older process nothing is migrated, and the refusal names it",
        arguments: [false, true])
    func olderProcess(_ states: Bool) throws {
        var claim: RestoreClaim? = try RestoreClaim(
            identity: "key", beside: scratch.database, components: states ? [numbersSchema] : nil)
        let older = try Database(path: scratch.database, components: [numbersSchema])
        try older.insert(1)
        #expect(throws: StoreError.olderProcess(path: scratch.database, pid: getpid())) {
            try Database(path: scratch.database, components: [grown], limits: impatient)
        }
        try older.insert(2)
        // Nothing is to be migrated for who is as old, and a component that is new to the file is nobody's yet.
        _ = try Database(path: scratch.database, components: [numbersSchema], limits: impatient)
        let other = SchemaComponent("other", [Migration("1", "CREATE TABLE other_table (x INTEGER) STRICT")])
        _ = try Database(path: scratch.database, components: [numbersSchema, other], limits: impatient)
        withExtendedLifetime(claim) {}
        claim = nil
        let newer = try Database(path: scratch.database, components: [grown], limits: impatient)
        #expect(try newer.numbers() == [1, 2])
    }

    @Test("A process that knows the steps, or does not use what changes, is nobody to wait for")
    func processOfToday() throws {
        _ = try Database(path: scratch.database, components: [numbersSchema])
        let claims = [
            try RestoreClaim(identity: "key", beside: scratch.database, components: [grown]),
            try RestoreClaim(identity: "app", beside: scratch.database, components: []),
        ]
        _ = try Database(path: scratch.database, components: [grown], limits: impatient)
        withExtendedLifetime(claims) {}
    }

    @Test("A second name of the file is refused, and so is the first while there are two")
    func secondName() throws {
        _ = try Database(path: scratch.database, components: [numbersSchema])
        let other = scratch.directory + "/other.db"
        #expect(link(scratch.database, other) == 0)
        let before = scratch.digests
        for path in [scratch.database, other] {
            #expect(throws: StoreError.secondName(path: path)) { try Database(path: path, components: [numbersSchema]) }
        }
        #expect(scratch.digests == before)
        unlink(other)
        _ = try Database(path: scratch.database, components: [numbersSchema])
    }
}
