import BluetoothHost
import Glibc
import Testing

@testable import StatePersistence

@Suite("The database file")
struct DatabaseTests {
    let scratch = Scratch()

    @Test("is made with mode 0600 in a directory of 0700, and nothing is left of its making")
    func creation() throws {
        let directory = scratch.directory + "/state"
        let database = try Database(path: directory + "/latch.db", components: [numbersSchema])
        try database.insert(1)
        #expect(Scratch.mode(directory) == 0o700)
        for suffix in ["", "-wal", "-shm", ".lock"] { #expect(Scratch.mode(directory + "/latch.db" + suffix) == 0o600) }
        for suffix in [".new", ".new-wal", ".new-shm"] { #expect(Scratch.mode(directory + "/latch.db" + suffix) == 0) }
        for suffix in ["", "-wal", "-shm", ".lock"] { unlink(directory + "/latch.db" + suffix) }
    }

    @Test("has the settings that durability and destruction rest on")
    func settings() throws {
        let database = try Database(path: scratch.database, components: [])
        func pragma(_ name: StaticString) throws -> String? {
            try database.statement(name).firstRow { (row) throws(StoreError) in row.name(0) }
        }
        #expect(try pragma("PRAGMA journal_mode") == "wal")
        #expect(try pragma("PRAGMA synchronous") == "2")
        #expect(try pragma("PRAGMA foreign_keys") == "1")
        #expect(try pragma("PRAGMA page_size") == "4096")
        #expect(try pragma("PRAGMA wal_autocheckpoint") == "0")
        // FAST: what is deleted is overwritten on pages that are written anyway.
        #expect(try pragma("PRAGMA secure_delete") == "2")
    }

    @Test("keeps what was committed, and its log when it is closed without a checkpoint")
    func reopening() throws {
        do {
            let database = try Database(path: scratch.database, components: [numbersSchema])
            for value in 1...5 { try database.insert(value) }
        }
        #expect(try StateFile.size(scratch.database + "-wal") ?? 0 > 0)
        #expect(try Database(path: scratch.database, components: [numbersSchema]).numbers() == [1, 2, 3, 4, 5])
    }

    @Test("begins a new log at each opening, whatever it finds in the old one")
    func inheritedLog() throws {
        do { try Database(path: scratch.database, components: [numbersSchema]).insert(1) }
        let log = scratch.database + "-wal"
        for tail in [[], [UInt8](repeating: 0x5A, count: 5_000)] {
            let before = Scratch.read(log)
            Scratch.write(before + tail, to: log)
            #expect(try Database(path: scratch.database, components: [numbersSchema]).numbers() == [1])
            // The salts of the header tell one log from another.
            #expect(Scratch.read(log)[16..<24] != before[16..<24])
        }
        // A log whose beginning was never written.
        try scratch.dropLog()
        Scratch.write([UInt8](repeating: 0, count: 100), to: log)
        let database = try Database(path: scratch.database, components: [numbersSchema])
        try database.insert(2)
        #expect(try database.numbers() == [1, 2])
        #expect(try DatabaseFile.integrityFaults(database.connection) == [])
    }

    @Test("has none of a transaction whose body throws")
    func rollback() throws {
        struct Refusal: Error {}
        let database = try Database(path: scratch.database, components: [numbersSchema])
        #expect(throws: Refusal.self) {
            try database.transaction {
                try database.statement("INSERT INTO test_number VALUES (7)").run()
                throw Refusal()
            }
        }
        #expect(try database.numbers() == [])
        try database.insert(8)
        #expect(try database.numbers() == [8])
    }

    @Test("checkpoints at the threshold, not below it, and its log begins afresh in place")
    func checkpointing() throws {
        var limits = DatabaseLimits()
        limits.checkpointOctets = 64 * 1_024
        let database = try Database(path: scratch.database, components: [numbersSchema], limits: limits)
        let before = Scratch.read(scratch.database)
        try database.insert(0)
        try database.checkpointIfNeeded()
        #expect(Scratch.read(scratch.database) == before)
        var value = 1
        while Scratch.read(scratch.database) == before, value < 200 {
            try database.insert(value)
            try database.checkpointIfNeeded()
            value += 1
        }
        #expect(value < 200)
        let log = try StateFile.size(scratch.database + "-wal") ?? 0
        for _ in 0..<300 {
            try database.insert(value)
            try database.checkpointIfNeeded()
            value += 1
        }
        #expect(try StateFile.size(scratch.database + "-wal") ?? 0 <= log + 20_000)
        #expect(try database.numbers() == Array(0..<value))
    }

    @Test(
        "has a log that a reader makes long: the operator hears of it once, and it is short again when the reader has gone"
    )
    func heldLog() throws {
        let database = try Database(path: scratch.database, components: [numbersSchema])
        var told = 0
        database.onLogHeld = { told += 1 }
        func length() throws -> Int { try StateFile.size(scratch.database + "-wal") ?? 0 }
        func commit(_ numbers: Range<Int>) throws {
            try database.transaction {
                for number in numbers {
                    try database.statement("INSERT INTO test_number VALUES (?)").run([SQLValue(number)])
                }
            }
            try database.checkpointIfNeeded()
        }
        try commit(0..<10)
        let reader = try Connection(path: scratch.database, access: .readOnly)
        try reader.execute("BEGIN; SELECT * FROM test_number")
        var count = 10
        while try length() <= DatabaseLimits.logUnheldMaximumOctets {
            #expect(told == 0)
            try commit(count..<count + 10_000)
            count += 10_000
        }
        for _ in 0..<3 {
            try commit(count..<count + 10_000)
            count += 10_000
        }
        #expect(told == 1)
        try reader.execute("COMMIT")
        try commit(count..<count + 10_000)
        count += 10_000
        #expect(try length() <= DatabaseLimits.logKeptMaximumOctets)
        #expect(!database.wantsCheckpoint)
        #expect(try database.numbers().count == count)
    }

    @Test("is under the lock that has its name, whatever somebody did to the file")
    func removedLock() throws {
        let (first, second) = (try FileLock(beside: scratch.database), try FileLock(beside: scratch.database))
        try first.acquire(waiting: 0)
        first.release()
        unlink(scratch.database + ".lock")
        try second.acquire(waiting: 0)
        #expect(throws: StoreError.busy(path: scratch.database)) { try first.acquire(waiting: 0) }
        second.release()
        try first.acquire(waiting: 0)
        #expect(throws: StoreError.busy(path: scratch.database)) { try second.acquire(waiting: 0) }
        first.release()
    }

    @Test("may be gone while somebody still commits on its connection, which goes on counting the log")
    func outlived() throws {
        let connection = try Database(path: scratch.database, components: [numbersSchema]).connection
        let before = connection.logPages
        for value in 1...3 { try connection.execute("INSERT INTO test_number VALUES (\(value))") }
        #expect(connection.logPages >= before + 3)
        #expect(try connection.checkpoint(truncating: false))
    }

    @Test("is not waited for longer than the limit, and nothing is written then")
    func busy() throws {
        var limits = DatabaseLimits()
        limits.commitWaitMilliseconds = 5
        limits.openWaitMilliseconds = 5
        let database = try Database(path: scratch.database, components: [numbersSchema], limits: limits)
        let other = try FileLock(beside: scratch.database)
        try other.acquire(waiting: 0)
        #expect(throws: StoreError.busy(path: scratch.database)) { try database.insert(1) }
        #expect(throws: StoreError.busy(path: scratch.database)) {
            try Database(path: scratch.database, components: [numbersSchema], limits: limits)
        }
        try database.checkpoint()
        other.release()
        #expect(try database.numbers() == [])
        try database.insert(2)
        #expect(try database.numbers() == [2])
    }

    @Test("takes everything of an iteration in one transaction, in order, and only from those that have something")
    func participants() throws {
        let database = try Database(path: scratch.database, components: [numbersSchema])
        let first = Numbers(database, pending: [1, 2])
        let idle = Numbers(database, pending: [])
        let second = Numbers(database, pending: [3])
        try database.commit([first, idle, second])
        #expect(try database.numbers() == [1, 2, 3])
        #expect([first.commits, idle.commits, second.commits] == [1, 0, 1])

        first.pending = [4]
        second.pending = [3]
        #expect(throws: StoreError.self) { try database.commit([first, second]) }
        #expect(try database.numbers() == [1, 2, 3])
        #expect(first.pending == [4])
        #expect(first.commits == 1)
    }
}

/// A store of the tests' own.
private final class Numbers: CommitParticipant {
    let database: Database
    var pending: [Int]
    var commits = 0

    init(_ database: Database, pending: [Int]) {
        self.database = database
        self.pending = pending
    }

    var hasPending: Bool { !pending.isEmpty }

    func writePending() throws {
        for value in pending {
            try database.statement("INSERT INTO test_number VALUES (?)").run([SQLValue(value)])
        }
    }

    func didCommit() {
        pending = []
        commits += 1
    }
}
