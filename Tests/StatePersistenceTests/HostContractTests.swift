import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import SecurityManager
import TestSupport
import Testing

@testable import StatePersistence

/// Every fact, written in batches of one commit each, and what a launch after them must read.
struct HostScenario: CustomTestStringConvertible {
    var testDescription: String
    var batches: [[HostMutation]]
    var expected: HostSnapshot

    init(_ title: String, _ batches: [[HostMutation]], _ expect: (inout HostSnapshot) -> Void) {
        testDescription = title
        self.batches = batches
        expected = HostSnapshot()
        expect(&expected)
    }
}

@Suite("Memory and SQLite keep the same facts")
struct HostContractTests {
    let scratch = Scratch()

    static let scenarios: [HostScenario] = HostScenario.ofIdentity + HostScenario.ofManagers

    @Test(arguments: scenarios)
    func memory(_ scenario: HostScenario) throws {
        var kept = KeptHostFacts()
        for batch in scenario.batches {
            let store = MemoryHostStore(kept)
            for mutation in batch { store.append(mutation) }
            try MemoryTransactionCoordinator().commit([store])
            kept = store.kept
        }
        expectEqual(MemoryHostStore(kept).load(), scenario.expected)
    }

    @Test(arguments: scenarios)
    func sqlite(_ scenario: HostScenario) throws {
        for batch in scenario.batches {
            let state = try scratch.open()
            let store = SQLiteHostStore(state, name: "lock")
            for mutation in batch { store.append(mutation) }
            try state.database.commit([store])
        }
        expectEqual(try SQLiteHostStore(scratch.open(), name: "lock").load(), scenario.expected)
    }

    @Test("any sequence of facts reads back the same from both, whether or not the store was loaded before")
    func random() throws {
        var generator = SeededGenerator(announcedBy: "HostContractTests.random")
        let seed = generator.seed
        let memory = MemoryHostStore()
        for round in 0..<30 {
            let state = try scratch.open()
            let store = SQLiteHostStore(state, name: "lock")
            if round.isMultiple(of: 2) { _ = try store.load() }
            for _ in 0..<3 {
                for _ in 0..<Int.random(in: 1...20, using: &generator) {
                    let mutation = HostMutation.random(using: &generator)
                    memory.append(mutation)
                    store.append(mutation)
                }
                try state.database.commit([store, memory])
            }
            expectEqual(try store.load(), memory.load(), "round \(round), seed \(seed)")
        }
    }

    @Test("nothing of what was handed over is kept when it is not committed")
    func uncommitted() throws {
        do {
            let store = SQLiteHostStore(try scratch.open(), name: "lock")
            store.append(.peer(Sample.peer(1)))
            #expect(store.hasPending)
        }
        expectEqual(try SQLiteHostStore(scratch.open(), name: "lock").load(), HostSnapshot())
        let memory = MemoryHostStore()
        memory.append(.peer(Sample.peer(1)))
        expectEqual(MemoryHostStore(memory.kept).load(), HostSnapshot())
    }

    @Test("a commit that another process prevents stays pending, and is whole later")
    func busy() throws {
        var limits = DatabaseLimits()
        limits.commitWaitMilliseconds = 2
        let state = try scratch.open(limits: limits)
        let store = SQLiteHostStore(state, name: "lock")
        store.append(.peer(Sample.peer(1)))
        let other = try FileLock(beside: scratch.database)
        try other.acquire(waiting: 0)
        #expect(throws: StoreError.busy(path: scratch.database)) { try state.database.commit([store]) }
        other.release()
        #expect(store.hasPending)
        store.append(.peer(Sample.peer(2)))
        try state.database.commit([store])
        #expect(!store.hasPending)
        #expect(try store.load().peers == [Sample.peer(1), Sample.peer(2)])
    }

    @Test("two identities share a file and nothing else")
    func identities() throws {
        let state = try scratch.open()
        let lock = SQLiteHostStore(state, name: "lock")
        let key = SQLiteHostStore(state, name: "key")
        lock.append(.localIdentity(Sample.identity(1)))
        lock.append(.bond(.upsert(Sample.bond(7))))
        key.append(.localIdentity(Sample.identity(2)))
        key.append(.bond(.upsert(Sample.bond(7, peer: 9))))
        key.append(.pendingConnection(Sample.central, Sample.pending(1)))
        try state.database.commit([lock, key])
        lock.append(.bond(.delete(BondID(7))))
        try state.database.commit([lock, key])
        #expect(try lock.load().bonds == [])
        #expect(try key.load().bonds == [Sample.bond(7, peer: 9)])
        #expect(try lock.load().restorations == [:])
        #expect(try lock.load().identity?.address == Sample.identity(1).address)
        #expect(try key.load().identity?.irk == Sample.identity(2).irk)
    }
}

func expectEqual(
    _ a: HostSnapshot, _ b: HostSnapshot, _ comment: Comment? = nil, location: SourceLocation = #_sourceLocation
) {
    #expect(a.identity?.address == b.identity?.address, comment, sourceLocation: location)
    #expect(a.identity?.irk == b.identity?.irk, comment, sourceLocation: location)
    #expect(a.bonds == b.bonds, comment, sourceLocation: location)
    #expect(a.gattClients == b.gattClients, comment, sourceLocation: location)
    #expect(a.peers == b.peers, comment, sourceLocation: location)
    #expect(a.restorations == b.restorations, comment, sourceLocation: location)
}

extension Scratch {
    /// The machine key lies beside the database here; configurations keep it apart.
    func open(limits: DatabaseLimits = DatabaseLimits()) throws -> StateStore {
        try StateStore(
            path: database, machineKeyFile: directory + "/machine.key", credentialsDirectory: nil, components: [.host],
            limits: limits)
    }
}
