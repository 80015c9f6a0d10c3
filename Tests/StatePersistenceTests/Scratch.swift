import BluetoothCore
import BluetoothCrypto
import CLinux
import Glibc
import TestSupport

@testable import StatePersistence

/// A directory for a store, gone with its owner.
final class Scratch {
    private let folder = ScratchDirectory()

    var directory: String { folder.path }
    var database: String { directory + "/latch.db" }
    var files: [String] { folder.files }

    /// The digest of every file's octets, but for the lock (which has none) and the index of the log (which SQLite
    /// derives from it).
    var digests: [String: [UInt8]] {
        var digests: [String: [UInt8]] = [:]
        for name in files where !name.hasSuffix(".lock") && !name.hasSuffix("-shm") {
            digests[name] = SHA256.digest(Self.read(directory + "/" + name))
        }
        return digests
    }

    /// Leaves the database alone in its file, as a copy of it would be.
    func dropLog() throws {
        let connection = try Connection(path: database, access: .readWrite)
        _ = try MigrationHistory(of: connection)
        guard try connection.checkpoint(truncating: true) else { throw StoreError.busy(path: database) }
        for suffix in ["-wal", "-shm"] { unlink(database + suffix) }
    }

    static func read(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        fseek(file, 0, SEEK_END)
        var octets = [UInt8](repeating: 0, count: ftell(file))
        rewind(file)
        guard fread(&octets, 1, octets.count, file) == octets.count else { return [] }
        return octets
    }

    static func write(_ octets: [UInt8], to path: String) {
        guard let file = fopen(path, "w") else { return }
        defer { fclose(file) }
        fwrite(octets, 1, octets.count, file)
    }

    static func mode(_ path: String) -> UInt32 {
        var found = stat()
        return lstat(path, &found) == 0 ? found.st_mode & 0o7777 : 0
    }
}

/// A component of the tests' own: one table of numbers.
let numbersSchema = SchemaComponent(
    "test", [Migration("1 numbers", "CREATE TABLE test_number (value INTEGER NOT NULL PRIMARY KEY) STRICT")])

extension Database {
    func insert(_ value: Int) throws {
        try transaction { try statement("INSERT INTO test_number VALUES (?)").run([SQLValue(value)]) }
    }

    func numbers() throws -> [Int] {
        var numbers: [Int] = []
        try statement("SELECT value FROM test_number ORDER BY value")
            .forEachRow { (row) throws(StoreError) in numbers.append(try row.integer(0)) }
        return numbers
    }
}
