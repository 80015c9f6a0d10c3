import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import Glibc
import SecurityManager
import Testing

@testable import StatePersistence

@Suite("Migrations")
struct MigrationTests {
    let scratch = Scratch()

    /// Files in the field have gone through these. A step that changes is a different step: add one instead.
    @Test("are frozen")
    func frozen() {
        let digests = [SchemaComponent.store, .host].map { component in
            component.migrations.map { HexText.encode(SHA256.digest(Array(($0.name + $0.sql).utf8)).prefix(8)) }
        }
        #expect(
            digests == [
                ["9614540CAD7EE6EA"],
                [
                    "CA8B24114BF5DF07", "15CEB1C59525D5A0", "A6281C75A3FA997E", "113A654D9468D668", "667DC102CF91C5A6",
                ],
            ])
    }

    @Test("take a file from every past to the present, each step once and in order")
    func steps() throws {
        let first = Migration("1", "CREATE TABLE test_a (x INTEGER) STRICT; INSERT INTO test_a VALUES (1)")
        let second = Migration("2", "ALTER TABLE test_a ADD COLUMN y INTEGER; UPDATE test_a SET y = x + 1")
        let third = Migration("3", "UPDATE test_a SET y = y * 10")
        _ = try Database(path: scratch.database, components: [SchemaComponent("test", [first])])
        for _ in 0..<2 {
            let database = try Database(
                path: scratch.database, components: [SchemaComponent("test", [first, second, third])])
            let y = try database.statement("SELECT y FROM test_a")
                .firstRow { (row) throws(StoreError) in try row.integer(0, as: Int.self) }
            #expect(y == 20)
        }
    }

    @Test("that fail leave nothing of themselves, and the steps before them stand")
    func failing() throws {
        let first = Migration("1", "CREATE TABLE test_a (x INTEGER) STRICT")
        _ = try Database(path: scratch.database, components: [SchemaComponent("test", [first])])
        let good = Migration("2", "CREATE TABLE test_b (x INTEGER) STRICT")
        let bad = Migration("3", "CREATE TABLE test_c (x INTEGER) STRICT; INSERT INTO test_none VALUES (1)")
        #expect(throws: StoreError.self) {
            try Database(path: scratch.database, components: [SchemaComponent("test", [first, good, bad])])
        }
        let database = try Database(path: scratch.database, components: [SchemaComponent("test", [first, good])])
        var names: [String] = []
        try database.statement("SELECT name FROM sqlite_schema WHERE name LIKE 'test%' ORDER BY name")
            .forEachRow { (row) throws(StoreError) in names.append(try row.text(0)) }
        #expect(names == ["test_a", "test_b"])
    }

    @Test("of other components are let be: a lock's file opens for a key too")
    func otherComponents() throws {
        _ = try Database(path: scratch.database, components: [numbersSchema])
        let other = SchemaComponent("other", [Migration("1", "CREATE TABLE other_a (x INTEGER) STRICT")])
        _ = try Database(path: scratch.database, components: [other])
        _ = try Database(path: scratch.database, components: [numbersSchema, other])
    }

    // MARK: Past schemas

    /// What the fixtures hold, by schema; written by whichever version made them.
    static let contents = [content1, content2, content2, content4, content4]
    private static let content4 = content2 + [.managerRested(RestoreKey(role: .central, identifier: "bell"), 7)]
    private static let content2 =
        content1 + [
            .advertising(RestoreKey(role: .peripheral, identifier: "bell"), Sample.advertising(1)),
            .scan(
                RestoreKey(role: .central, identifier: "bell"),
                ScanRecord(services: [], allowDuplicates: false, procedure: .limitedDiscovery, isPassive: true)),
        ]
    private static let content1: [HostMutation] = [
        .localIdentity(Sample.identity(1)), .bond(.upsert(Sample.bond(5))), .bond(.remoteSignCounter(BondID(5), 77)),
        .gatt(.clientCharacteristicConfiguration(bond: 5, handle: AttributeHandle(9), value: .indication)),
        .gatt(.clientSupportedFeatures(bond: 5, value: [1])), .gatt(.changeAware(bond: 5, databaseHash: [1, 2, 3])),
        .peer(Sample.peer(1)), .pendingConnection(Sample.central, Sample.pending(1)),
        .subscription(Sample.central, Sample.subscription(9)),
        .scan(Sample.central, ScanRecord(services: [0x180A], allowDuplicates: true)),
        .servicePublished(Sample.peripheral, Sample.service(4)),
        .advertising(Sample.peripheral, AdvertisingRecord(localName: "door", services: [0x180A])),
        .updateQueued(Sample.peripheral, Sample.update(3, bond: 5)),
    ]
    static let machineKey = [UInt8](repeating: 0x5A, count: 32)

    @Test(
        "A file of each past schema opens and has all that was in it",
        arguments: zip(HostFixture.all, MigrationTests.contents))
    func fixture(_ sql: String, _ content: [HostMutation]) throws {
        do {
            _ = try StateFile.open(scratch.database, O_RDWR | O_CREAT | O_EXCL)
            let connection = try Connection(path: scratch.database, access: .create)
            try connection.execute("PRAGMA page_size = 1024; PRAGMA application_id = \(0x4C74_6368)")
            try connection.execute(sql)
        }
        try writeMachineKey()
        var kept = KeptHostFacts()
        for mutation in content { kept.apply(mutation) }
        expectEqual(try SQLiteHostStore(scratch.open(), name: "lock").load(), kept.snapshot)
    }

    /// For scripts/make-store-fixture, after a new migration.
    @Test("writes the next fixture when asked to", .enabled(if: getenv("LATCH_WRITE_FIXTURE") != nil))
    func write() throws {
        let target = String(cString: try #require(getenv("LATCH_WRITE_FIXTURE")))
        try writeMachineKey()
        let state = try scratch.open()
        let store = SQLiteHostStore(state, name: "lock")
        for mutation in Self.contents.last ?? [] { store.append(mutation) }
        try state.database.commit([store])
        try StateBackup.make(of: scratch.database, at: target)
    }

    private func writeMachineKey() throws {
        let path = scratch.directory + "/machine.key"
        Scratch.write(Self.machineKey, to: path)
        chmod(path, 0o600)
    }
}
