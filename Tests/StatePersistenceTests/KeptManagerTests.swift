import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager
import Testing

@testable import StatePersistence

@Suite("What is kept under restore identifiers")
struct KeptManagerTests {
    let scratch = Scratch()
    private let old = RestoreKey(role: .peripheral, identifier: "old")
    private let new = RestoreKey(role: .peripheral, identifier: "new")
    private let service = ServiceDefinition(
        uuid: 0xFFF0,
        characteristics: [
            CharacteristicDefinition(uuid: 0xFFF1, properties: .notify, access: AttributeAccess(subscribe: .open))
        ])

    /// Two names with all that there can be under each, and a bonded client that has subscribed to both of their services.
    private func fill() throws {
        let state = try scratch.open()
        let store = SQLiteHostStore(state, name: "peripheral")
        store.append(.localIdentity(Sample.identity(1)))
        store.append(.bond(.upsert(Sample.bond(5))))
        for (index, key) in [old, new].enumerated() {
            let handle = AttributeHandle(UInt16(10 + 10 * index))
            store.append(.servicePublished(key, PublishedServiceRecord(handle: handle, encoded: service.encoded)))
            store.append(.advertising(key, Sample.advertising(1)))
            store.append(.updateQueued(key, Sample.update(3, bond: 5)))
            store.append(.scan(key, ScanRecord(services: [0x180A], allowDuplicates: true)))
            store.append(.pendingConnection(key, Sample.pending(1)))
            store.append(.subscription(key, Sample.subscription(9)))
            let descriptor = AttributeHandle(handle.rawValue + UInt16(service.attributeCount) - 1)
            store.append(
                .gatt(.clientCharacteristicConfiguration(bond: 5, handle: descriptor, value: .indication)))
        }
        store.append(.managerRested(old, 1))
        try state.database.commit([store])
    }

    private func kept() throws -> HostSnapshot { try SQLiteHostStore(scratch.open(), name: "peripheral").load() }

    @Test("is listed name by name, at rest or not")
    func listed() throws {
        try fill()
        var expected = KeptManager(identity: "peripheral", role: "peripheral", identifier: "new", isAtRest: false)
        expected.services = 1
        expected.isAdvertising = true
        expected.isScanning = true
        expected.pendingConnections = 1
        expected.subscriptions = 1
        expected.queuedUpdates = 1
        var resting = expected
        resting.identifier = "old"
        resting.isAtRest = true
        #expect(try StateInspector(path: scratch.database).managers() == [expected, resting])
    }

    @Test("is forgotten whole, with what clients have configured of it, and nothing else goes")
    func forgotten() throws {
        try fill()
        let before = try kept()
        let manager = try #require(try StateInspector(path: scratch.database).managers().last)
        try manager.forget(at: scratch.database, components: [.host])
        let after = try kept()
        #expect(after.restorations[old] == nil)
        #expect(after.restorations[new] == before.restorations[new])
        #expect(after.bonds == before.bonds)
        #expect(after.gattClients.map { $0.configurations.keys.map(\.rawValue) } == [[23]])
        let tables = try StateInspector(path: scratch.database).tables()
        for table in tables {
            guard let column = table.columns.firstIndex(of: "restoration") else { continue }
            #expect(!table.rows.contains { $0[column] == .integer(1) }, "\(table.name)")
        }
        // Once more is nothing more.
        try manager.forget(at: scratch.database, components: [.host])
    }

    @Test("is not forgotten under a running daemon")
    func claimed() throws {
        try fill()
        let before = try kept()
        let claim = try RestoreClaim(identity: "peripheral", beside: scratch.database, components: [.host])
        let manager = try #require(try StateInspector(path: scratch.database).managers().last)
        #expect(try RestoreClaim.holder(of: "peripheral", beside: scratch.database) != nil)
        #expect(throws: StoreError.self) { try manager.forget(at: scratch.database, components: [.host]) }
        expectEqual(try kept(), before)
        withExtendedLifetime(claim) {}
        #expect(try RestoreClaim.holder(of: "central", beside: scratch.database) == nil)
    }

    @Test("has no names that nothing is kept under, once another comes")
    func empty() throws {
        let state = try scratch.open()
        let store = SQLiteHostStore(state, name: "peripheral")
        for number in 0..<100 {
            let key = RestoreKey(role: .central, identifier: "app \(number)")
            store.append(.scan(key, ScanRecord(services: [], allowDuplicates: false)))
            store.append(.scan(key, nil))
            try state.database.commit([store])
        }
        let table = try #require(
            try StateInspector(path: scratch.database).tables().first { $0.name == "host_restoration" })
        #expect(table.rows.count == 1)
    }

    @Test("of a file that no daemon of this version has opened is listed, and nobody rests there")
    func formerSchema() throws {
        let former = SchemaComponent("host", Array(SchemaComponent.host.migrations.prefix(3)))
        do {
            let database = try Database(path: scratch.database, components: [former])
            try database.transaction {
                try database.statement("INSERT INTO host_identity (id, name) VALUES (1, 'peripheral')").run()
                try database.statement("INSERT INTO host_restoration VALUES (1, 1, 'peripheral', 'old')").run()
            }
        }
        let expected = KeptManager(identity: "peripheral", role: "peripheral", identifier: "old", isAtRest: false)
        #expect(try StateInspector(path: scratch.database).managers() == [expected])
    }
}
