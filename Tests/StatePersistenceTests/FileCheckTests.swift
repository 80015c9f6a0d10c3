import BluetoothCore
import BluetoothHost
import CSQLite
import Glibc
import Synchronization
import Testing

@testable import StatePersistence

@Suite("A large file is checked while it is used")
struct FileCheckTests {
    let scratch = Scratch()

    private func openBriefly() throws -> StateStore {
        try StateStore(
            path: scratch.database, machineKeyFile: scratch.directory + "/machine.key", credentialsDirectory: nil,
            components: [.host], check: .brief)
    }

    /// More than is checked at once, and no log.
    private func fill(peers: Int = 1_600) throws {
        do {
            let state = try scratch.open()
            let store = SQLiteHostStore(state, name: "lock")
            store.append(.localIdentity(Sample.identity(1)))
            for number in 1...peers {
                var peer = Sample.peer(UInt64(number % 250))
                peer.identifier = PeerIdentifier(bits: UInt128(number))
                peer.remoteDatabase = [UInt8](repeating: 7, count: 700)
                store.append(.peer(peer))
            }
            try state.database.commit([store])
        }
        try scratch.dropLog()
    }

    private func overwriteLastPage() {
        let size = Scratch.read(scratch.database).count
        Fault.overwrite(scratch.database, at: size - DatabaseFile.pageOctets, with: [UInt8](repeating: 0xFF, count: 64))
    }

    private func verdict(_ state: StateStore) async throws -> StoreError? {
        try await withCheckedThrowingContinuation { continuation in
            do { try state.database.checkWhole { continuation.resume(returning: $0) } } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    @Test("Sound: it opens unchecked, and the check finds nothing")
    func sound() async throws {
        try fill()
        let state = try openBriefly()
        #expect(!state.database.isChecked)
        #expect(try await verdict(state) == nil)
        #expect(!scratch.files.contains { $0.hasSuffix(".damaged") })
    }

    @Test("A page found damaged late is remembered: every later launch refuses first, until the file is sound again")
    func damagedLate() async throws {
        try fill()
        let sound = Scratch.read(scratch.database)
        overwriteLastPage()
        do {
            let state = try openBriefly()
            #expect(!state.database.isChecked)
            guard case .corrupt = try await verdict(state) else {
                Issue.record("the damage was not found")
                return
            }
        }
        let before = Scratch.read(scratch.database)
        for _ in 0..<2 {
            #expect { try openBriefly() } throws: { if case StoreError.corrupt = $0 { true } else { false } }
        }
        #expect(Scratch.read(scratch.database) == before)
        for suffix in ["-wal", "-shm"] { unlink(scratch.database + suffix) }
        Scratch.write(sound, to: scratch.database)
        #expect(try openBriefly().database.isChecked)
        #expect(!scratch.files.contains { $0.hasSuffix(".damaged") })
        #expect(try !openBriefly().database.isChecked)
    }

    @Test("A small file is checked before anything else, as it always was: one octet more, and it is not")
    func small() throws {
        try fill(peers: 20)
        #expect(try openBriefly().database.isChecked)
        overwriteLastPage()
        for suffix in ["-wal", "-shm"] { unlink(scratch.database + suffix) }
        #expect { try openBriefly() } throws: { if case StoreError.corrupt = $0 { true } else { false } }

        let path = scratch.directory + "/sized"
        for (octets, isWhole) in [(FileCheck.briefOctetsMaximum, true), (FileCheck.briefOctetsMaximum + 1, false)] {
            Scratch.write([UInt8](repeating: 0, count: octets), to: path)
            #expect(try FileCheck.brief.isWhole(path) == isWhole)
            #expect(try FileCheck.whole.isWhole(path))
        }
    }

    @Test("What a brief look refuses it refuses as a whole one does: cut off, a newer version's, another machine key's")
    func refusedAtOnce() throws {
        try fill()
        let sound = Scratch.read(scratch.database)
        Scratch.write(Array(sound.prefix(sound.count - DatabaseFile.pageOctets)), to: scratch.database)
        #expect { try openBriefly() } throws: { if case StoreError.corrupt = $0 { true } else { false } }
        Scratch.write(sound, to: scratch.database)
        #expect(
            throws: StoreError.newerVersion(
                path: scratch.database, component: "host", found: "1 identities, bonds, clients, peers, restoration")
        ) {
            try StateStore(
                path: scratch.database, machineKeyFile: scratch.directory + "/machine.key", credentialsDirectory: nil,
                components: [SchemaComponent("host", [])], check: .brief)
        }
        Scratch.write([UInt8](repeating: 9, count: 32), to: scratch.directory + "/machine.key")
        #expect(throws: StoreError.wrongMachineKey(path: scratch.directory + "/machine.key")) { try openBriefly() }
        #expect(Scratch.read(scratch.database) == sound)
    }

    @Test("Values that fit no column cost their rows; one more of them than may be, and the file is refused")
    func rowFaults() throws {
        let most = DatabaseFile.rowFaultsMaximum
        let words = SchemaComponent(
            "test", [Migration("1 words", "CREATE TABLE test_word (value INTEGER NOT NULL) STRICT")])
        do {
            let database = try Database(path: scratch.database, components: [words])
            try database.transaction {
                for number in 0...most {
                    try database.statement("INSERT INTO test_word VALUES (?)").run([SQLValue(number)])
                }
            }
        }
        try scratch.dropLog()
        /// Past the connection's own guard, as a medium does.
        func execute(_ sql: String) throws {
            var handle: OpaquePointer?
            try #require(sqlite3_open(scratch.database, &handle) == SQLITE_OK)
            defer { sqlite3_close(handle) }
            try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        }
        func spoil(below limit: Int) throws {
            try execute(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = replace(sql, ' STRICT', '      ') WHERE name = 'test_word'
                """)
            try execute("UPDATE test_word SET value = 'x' || value WHERE value < \(limit)")
            try execute(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = replace(sql, '      ', ' STRICT') WHERE name = 'test_word'
                """)
            try scratch.dropLog()
        }
        try spoil(below: most)
        do {
            let database = try Database(path: scratch.database, components: [words])
            let statement = try database.statement("SELECT value FROM test_word")
            #expect(throws: StoreError.self) {
                try statement.forEachRow { (row) throws(StoreError) in _ = try row.integer(0, as: Int.self) }
            }
        }
        try scratch.dropLog()
        #expect(try StateInspector(path: scratch.database).check(components: [words]).faults.isEmpty == false)
        try spoil(below: most + 1)
        #expect(throws: StoreError.corrupt(path: scratch.database, reason: "more than \(most) values fit no column")) {
            try Database(path: scratch.database, components: [words])
        }
    }
}
