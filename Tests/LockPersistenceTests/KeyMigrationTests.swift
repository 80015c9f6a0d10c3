import BluetoothCore
import LockCentral
import LockPersistence
import StatePersistence
import Testing

@Suite("What older versions left of a key")
struct KeyMigrationTests {
    @Test("Forged absence: what advertisements and silence said before links were measured is no absence any more")
    func absences() throws {
        let scratch = Scratch()
        let first = SchemaComponent("key", Array(SchemaComponent.key.migrations.prefix(1)))
        do {
            let database = try Database(path: scratch.path, components: [.lock, first])
            let store = SQLiteKeyStore(database)
            store.append(.lock(LockRecord(peer: PeerIdentifier(bits: 7), name: "Front", unlocksWhenNear: true)))
            store.append(.proximity(PeerIdentifier(bits: 7), .away))
            try database.commit([store])
            #expect(try store.load().locks.values.map(\.proximity) == [.away])
        }
        let kept = try SQLiteKeyStore(scratch.open()).load()
        #expect(kept.locks.values.map(\.proximity) == [.near] && kept.locks.values.first?.record.name == "Front")
    }
}
