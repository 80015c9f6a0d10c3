import BluetoothCore
import BluetoothHost
import LockCentral
import LockPersistence
import MemoryStores
import StatePersistence
import Testing

@Suite("What older versions left of a key")
struct KeyMigrationTests {
    /// What a store of so many steps has, written in its own words: the present one speaks of columns that it lacks.
    private func open(afterMigrations count: Int, in scratch: Scratch = Scratch()) throws -> KeySnapshot {
        let former = SchemaComponent("key", Array(SchemaComponent.key.migrations.prefix(count)))
        do {
            let database = try Database(path: scratch.path, components: [.lock, former])
            try database.commit([FormerKeyStore(database)])
        }
        return try SQLiteKeyStore(scratch.open()).load()
    }

    @Test("Forged absence: what advertisements and silence said before links were measured is no absence any more")
    func absences() throws {
        let kept = try open(afterMigrations: 1)
        #expect(kept.locks.values.map(\.proximity) == [.near] && kept.locks.values.first?.record.name == "Front")
    }

    @Test("A lock from before locks had thresholds of their own has the configuration's, and takes its own")
    func thresholds() throws {
        let peer = PeerIdentifier(bits: 7)
        let scratch = Scratch()
        let kept = try open(afterMigrations: 3, in: scratch)
        #expect(kept.locks[peer]?.record.name == "Front" && kept.locks[peer]?.thresholds == nil)
        let own = try #require(ProximityThresholds(nearDBm: -70, awayDBm: -80))
        let database = try scratch.open()
        let store = SQLiteKeyStore(database)
        store.append(.thresholds(peer, own))
        try database.commit([store])
        #expect(try store.load().locks[peer]?.thresholds == own)
    }

    @Test("A lock from before locks had notes and an order has neither, and takes both")
    func choices() throws {
        let peer = PeerIdentifier(bits: 7)
        let scratch = Scratch()
        let kept = try open(afterMigrations: 4, in: scratch)
        #expect(kept.locks[peer]?.record.name == "Front" && kept.locks[peer]?.note == nil && kept.preferred.isEmpty)
        let note = try LockNote("turn twice")
        let database = try scratch.open()
        let store = SQLiteKeyStore(database)
        store.append(.note(peer, note))
        store.append(.preferred([peer]))
        try database.commit([store])
        let taken = try store.load()
        #expect(taken.locks[peer]?.note == note && taken.preferred == [peer])
    }

    @Test("An absence from before its watch was kept has none, and so counts for nothing at the next launch")
    func unwatched() throws {
        let kept = try open(afterMigrations: 2)
        #expect(kept.locks.values.map(\.proximity) == [.away] && kept.locks.values.map(\.watched) == [nil])
        let store = MemoryKeyStore(kept)
        var outputs: [KeyOutput] = []
        _ = KeyMachine(
            restoring: try store.load(), boot: BootID(bits: 1), now: Instant(nanoseconds: 1), into: &outputs)
        #expect(outputs == [.persist(.proximity(PeerIdentifier(bits: 7), .near))])
    }
}

/// A row of a lock that the key was away from.
private final class FormerKeyStore: CommitParticipant {
    private let database: Database
    private(set) var hasPending = true

    init(_ database: Database) { self.database = database }

    func writePending() throws {
        try database.statement(
            """
            INSERT INTO key_lock (peer, name, unlocks_when_near, locks_when_leaving, proximity)
            VALUES (?, 'Front', 1, 0, 1)
            """
        ).run([SQLValue(UInt128(7))])
    }

    func didCommit() { hasPending = false }
}
