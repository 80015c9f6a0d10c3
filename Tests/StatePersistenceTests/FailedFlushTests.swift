import Glibc
import TestSupport
import Testing

@testable import StatePersistence

/// After a flush that failed the kernel calls the pages clean and keeps what they hold: the next life reads from its cache
/// what no medium has, and its own flushes say nothing of it. These tests have a real file system do that, end each
/// process that saw it, and then look at the medium.
@Suite("A flush that failed once")
struct FailedFlushTests {
    let disk: ThinDisk
    /// Relative to the disk's root.
    let database: String

    init() throws {
        disk = try ThinDisk()
        database = disk.path + "/latch.sqlite"
    }

    /// Commits numbers from `first`; those that were acknowledged, and what the process said when it could not go on.
    private func commit(from first: Int, count: Int, checkpointEvery: Int = .max) throws -> (
        numbers: [Int], complaint: String?
    ) {
        let child = try Child.hammer("commit", database, "\(first)", "\(count)", "\(checkpointEvery)")
        let lines = child.lines()
        let isComplete = child.wait() == .exited(0)
        let numbers = lines.compactMap { Int($0) }
        #expect(lines.count == numbers.count + (isComplete ? 0 : 1))
        return (numbers, isComplete ? nil : lines.last)
    }

    /// One transaction that the database has no room for yet: to move it takes blocks that were never written.
    @discardableResult
    private func fillLog(with values: Range<Int>) throws -> Database {
        let store = try Database(path: database, components: [numbersSchema])
        try store.transaction {
            for value in values { try store.statement("INSERT INTO test_number VALUES (?)").run([SQLValue(value)]) }
        }
        return store
    }

    /// Nothing has the disk open any more: what is on the medium.
    private func expectOnMedium(_ acknowledged: [Int]) throws {
        try disk.remount()
        let store = try Database(path: database, components: [numbersSchema])
        let kept = Set(try store.numbers())
        #expect(kept.isSuperset(of: acknowledged), "lost: \(acknowledged.filter { !kept.contains($0) })")
        #expect(try DatabaseFile.integrityFaults(store.connection) == [])
    }

    @Test("of the log: what the next life acknowledges is on the medium, and so is what came before")
    func log() throws {
        let before = try commit(from: 0, count: 20)
        #expect(before.complaint == nil)
        try disk.starve()
        let starved = try commit(from: 20, count: 1_000)
        #expect(starved.complaint?.contains("input/output error") == true, "\(starved.complaint ?? "it went on")")
        try disk.feed()
        let after = try commit(from: 2_000, count: 4)
        #expect(after.numbers == [2_000, 2_001, 2_002, 2_003], "\(after.complaint ?? "")")
        try expectOnMedium(before.numbers + starved.numbers + after.numbers)
    }

    @Test(
        "of the database, in a checkpoint: the next life copies the whole log again",
        arguments: [false, true])
    func checkpoint(isSharedMeanwhile: Bool) throws {
        // A process that has the file open all the while keeps the index of the log alive, and what it says was copied.
        let other = isSharedMeanwhile ? try Child.hammer("hold", database) : nil
        if let other { #expect(other.line() == "holds") }
        try fillLog(with: 0..<20_000)
        try disk.starve()
        // Opening moves what it finds in the log.
        let starved = try commit(from: 20_000, count: 1_000)
        #expect(starved.numbers == [])
        #expect(starved.complaint?.contains("input/output error") == true, "\(starved.complaint ?? "it went on")")
        try disk.feed()
        let after = try commit(from: 30_000, count: 4, checkpointEvery: 1)
        #expect(after.numbers == [30_000, 30_001, 30_002, 30_003], "\(after.complaint ?? "")")
        if let other {
            other.kill()
            #expect(other.wait() == .killed(SIGKILL))
        }
        try expectOnMedium(Array(0..<20_000) + after.numbers)
    }

    @Test("of the database, which another program maps: the next life does not believe the cache, and says so")
    func mapped() throws {
        try fillLog(with: 0..<20_000)
        try disk.starve()
        let starved = try commit(from: 20_000, count: 1)
        #expect(starved.complaint?.contains("input/output error") == true, "\(starved.complaint ?? "it went on")")
        // The cache gives up no page that somebody has mapped.
        let map = try Map(database)
        try disk.feed()
        let refused = try commit(from: 25_000, count: 1)
        #expect(refused.numbers == [])
        #expect(
            refused.complaint?.contains("the cache shows what the medium does not have") == true,
            "\(refused.complaint ?? "it went on")")
        map.end()
        let after = try commit(from: 30_000, count: 4)
        #expect(after.numbers == [30_000, 30_001, 30_002, 30_003], "\(after.complaint ?? "")")
        try expectOnMedium(Array(0..<20_000) + refused.numbers + after.numbers)
    }

    @Test("of nothing: a sound file that another program maps is used")
    func mappedSound() throws {
        try fillLog(with: 0..<2_000).checkpoint()
        let map = try Map(database)
        let after = try commit(from: 30_000, count: 2)
        #expect(after.numbers == [30_000, 30_001], "\(after.complaint ?? "")")
        map.end()
        try expectOnMedium(Array(0..<2_000) + after.numbers)
    }

    /// Another program's view of a file, every page of it.
    private final class Map {
        private var address: UnsafeMutableRawPointer?
        private let count: Int

        init(_ path: String) throws {
            let file = try StateFile.open(path, O_RDONLY)
            count = try StateFile.size(path) ?? 0
            address = mmap(nil, count, PROT_READ, MAP_SHARED | MAP_POPULATE, file.fd, 0)
            try #require(address != MAP_FAILED)
        }

        func end() {
            if let address { munmap(address, count) }
            address = nil
        }

        deinit { end() }
    }

    @Test("in a checkpoint: the process that saw it commits nothing more, though there is room again")
    func lifeThatSawIt() throws {
        do {
            let store = try fillLog(with: 0..<20_000)
            try disk.starve()
            #expect(throws: StoreError.self) { try store.checkpoint() }
            try disk.feed()
            #expect(throws: StoreError.self) { try store.insert(20_000) }
            #expect(throws: StoreError.self) { try store.checkpoint() }
        }
        let after = try commit(from: 30_000, count: 2)
        #expect(after.numbers == [30_000, 30_001], "\(after.complaint ?? "")")
        try expectOnMedium(Array(0..<20_000) + after.numbers)
    }

    @Test("while something is made: there is nothing under its name, and the next attempt makes it whole")
    func making() throws {
        let key = disk.path + "/machine.key"
        let backup = disk.path + "/backup.sqlite"
        func open() throws -> StateStore {
            try StateStore(
                path: database, machineKeyFile: key, credentialsDirectory: nil, components: [.host, numbersSchema])
        }
        func names() -> [String] {
            [key, database, backup].filter { access($0, F_OK) == 0 }
        }
        try disk.starve()
        #expect(throws: StoreError.self) { try open() }
        #expect(names() == [])
        try disk.feed()
        let wrapped = try open().keys.wrap([1, 2, 3], table: "t", column: "c", row: "r")
        try disk.starve()
        #expect(throws: StoreError.self) { try StateBackup.make(of: database, at: backup) }
        #expect(names() == [key, database])
        try disk.feed()
        try StateBackup.make(of: database, at: backup)
        try disk.remount()
        #expect(try open().keys.unwrap(wrapped, table: "t", column: "c", row: "r") == [1, 2, 3])
        #expect(try StateInspector(path: backup).check(components: [.host, numbersSchema]).faults == [])
    }
}
