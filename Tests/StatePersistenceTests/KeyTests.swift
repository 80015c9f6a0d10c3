import BluetoothCrypto
import BluetoothHost
import Glibc
import SecurityManager
import Testing

@testable import StatePersistence

@Suite("The machine key and what is wrapped with it")
struct KeyTests {
    let scratch = Scratch()
    var keyFile: String { scratch.directory + "/machine.key" }

    @Test("is made once, 0600, and read again")
    func creation() throws {
        let first = try MachineKey.load(credentialsDirectory: nil, file: keyFile, mayCreate: true)
        #expect(Scratch.mode(keyFile) == 0o600)
        #expect(Scratch.read(keyFile).count == 32)
        #expect(scratch.files == ["machine.key"])
        let second = try MachineKey.load(credentialsDirectory: nil, file: keyFile, mayCreate: false)
        #expect(first.secret == second.secret)
    }

    @Test("comes from systemd's credentials when it is there")
    func credential() throws {
        Scratch.write([UInt8](repeating: 7, count: 32), to: scratch.directory + "/latch.machine-key")
        let key = try MachineKey.load(credentialsDirectory: scratch.directory, file: keyFile, mayCreate: true)
        #expect(key.secret == Secret([UInt8](repeating: 7, count: 32)))
        #expect(scratch.files == ["latch.machine-key"])
    }

    @Test("of another length, or open to others, or missing beside a database, is refused", arguments: [0, 31, 33])
    func refusals(count: Int) throws {
        Scratch.write([UInt8](repeating: 7, count: count), to: keyFile)
        chmod(keyFile, 0o600)
        #expect(throws: StoreError.machineKeyMalformed(path: keyFile)) {
            try MachineKey.load(credentialsDirectory: nil, file: keyFile, mayCreate: true)
        }
        chmod(keyFile, 0o644)
        #expect(throws: StoreError.tooOpen(path: keyFile, mode: 0o644, allowed: 0o600)) {
            try MachineKey.load(credentialsDirectory: nil, file: keyFile, mayCreate: true)
        }
        unlink(keyFile)
        _ = try scratch.open()
        unlink(keyFile)
        #expect(throws: StoreError.machineKeyMissing(path: keyFile)) { try scratch.open() }
        #expect(!scratch.files.contains("machine.key"))
    }

    @Test("Another machine's key is told from an altered secret, and nothing is written")
    func wrongKey() throws {
        _ = try scratch.open()
        Scratch.write([UInt8](repeating: 7, count: 32), to: keyFile)
        chmod(keyFile, 0o600)
        let before = scratch.digests
        #expect(throws: StoreError.wrongMachineKey(path: keyFile)) { try scratch.open() }
        #expect(scratch.digests == before)
    }

    @Test("Stolen file: no key of a bond is in the database or its log")
    func nothingInClear() throws {
        let state = try scratch.open()
        let store = SQLiteHostStore(state, name: "lock")
        store.append(.localIdentity(Sample.identity(1)))
        store.append(.bond(.upsert(Sample.bond(3))))
        try state.database.commit([store])
        let files = Scratch.read(scratch.database) + Scratch.read(scratch.database + "-wal")
        for number: UInt64 in [4, 5, 6, 7, 1_001] {
            let octets = Sample.secret(number).withBytes { Array($0) }
            #expect(!files.contains(octets), "secret \(number)")
        }
        // The search finds what is there.
        #expect(files.contains(Array("credential 3".utf8)))
    }

    @Test(
        "Stolen backup, and what a deleted bond has left: no key is in clear, and with the machine key gone none opens")
    func stolenBackup() throws {
        let backup = scratch.directory + "/backup.db"
        do {
            let state = try scratch.open()
            let store = SQLiteHostStore(state, name: "lock")
            store.append(.localIdentity(Sample.identity(1)))
            for number in [3, 9] as [Int64] { store.append(.bond(.upsert(Sample.bond(number)))) }
            try state.database.commit([store])
            store.append(.bond(.delete(BondID(3))))
            try state.database.commit([store])
            try StateBackup.make(of: scratch.database, at: backup)
        }
        let copy = Scratch.read(backup)
        let files = Scratch.read(scratch.database) + Scratch.read(scratch.database + "-wal") + copy
        for number: UInt64 in [4, 5, 6, 7, 10, 11, 12, 13, 1_001] {
            #expect(!files.contains(Sample.secret(number).withBytes { Array($0) }), "secret \(number)")
        }
        #expect(copy.contains(Array("credential 9".utf8)))
        #expect(!copy.contains(Array("credential 3".utf8)), "a backup has no free pages")
        let other = scratch.directory + "/other.key"
        Scratch.write([UInt8](repeating: 7, count: 32), to: other)
        chmod(other, 0o600)
        for (key, error) in [
            (other, StoreError.wrongMachineKey(path: other)),
            (keyFile + ".gone", .machineKeyMissing(path: keyFile + ".gone")),
        ] {
            #expect(throws: error) {
                try StateStore(path: backup, machineKeyFile: key, credentialsDirectory: nil, components: [.host])
            }
        }
    }

    @Test(
        "Swapped rows: wrapped keys moved to another bond, another identity or altered do not open",
        arguments: [
            "UPDATE host_bond SET keys = (SELECT keys FROM host_bond WHERE id = 2) WHERE id = 1",
            "UPDATE host_bond SET identity = 2 WHERE id = 1",
            "UPDATE host_bond SET keys = (SELECT irk FROM host_identity WHERE id = 1) WHERE id = 1",
            "UPDATE host_bond SET keys = zeroblob(length(keys)) WHERE id = 1",
            "UPDATE host_bond SET keys = substr(keys, 1, 20) WHERE id = 1",
            "UPDATE host_bond SET keys = x'' WHERE id = 1",
        ])
    func moved(sql: String) throws {
        let state = try scratch.open()
        let store = SQLiteHostStore(state, name: "lock")
        let other = SQLiteHostStore(state, name: "key")
        store.append(.localIdentity(Sample.identity(1)))
        store.append(.bond(.upsert(Sample.bond(1))))
        store.append(.bond(.upsert(Sample.bond(2))))
        other.append(.localIdentity(Sample.identity(2)))
        try state.database.commit([store, other])
        try state.database.connection.execute(sql)
        let failures = [store, other].compactMap { store in
            do {
                _ = try store.load()
                return nil as StoreError?
            } catch {
                return error as? StoreError
            }
        }
        let row = sql.contains("identity = 2") ? "2 1" : "1 1"
        #expect(failures == [.secretAltered(path: scratch.database, table: "host_bond", row: row)])
    }

    @Test("Every wrapping of one secret is different")
    func nonces() throws {
        let keys = try scratch.open().keys
        let wrapped = (0..<100).map { _ in keys.wrap([1, 2, 3], table: "t", column: "c", row: "r") }
        #expect(Set(wrapped).count == 100)
        #expect(try keys.unwrap(wrapped[0], table: "t", column: "c", row: "r") == [1, 2, 3])
    }

    @Test("Two daemons at their first launch at once: one check stands, and both have the same key", arguments: 0..<20)
    func firstLaunches(round: Int) async throws {
        let path = scratch.database
        let keyFile = keyFile
        let wrapped = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let store = try StateStore(
                        path: path, machineKeyFile: keyFile, credentialsDirectory: nil, components: [.host])
                    return store.keys.wrap([1, 2, 3], table: "t", column: "c", row: "r")
                }
            }
            return try await group.reduce(into: [[UInt8]]()) { $0.append($1) }
        }
        let keys = try scratch.open().keys
        for octets in wrapped { #expect(try keys.unwrap(octets, table: "t", column: "c", row: "r") == [1, 2, 3]) }
    }
}
