import BluetoothCrypto
import BluetoothHost
import SecurityManager
import Testing

@testable import StatePersistence

/// Who may write the file, and has not the machine key.
@Suite("Bonds that are authenticated")
struct BondMACTests {
    let scratch = Scratch()

    private func filled() throws -> (StateStore, SQLiteHostStore) {
        let state = try scratch.open()
        let store = SQLiteHostStore(state, name: "lock")
        store.append(.localIdentity(Sample.identity(1)))
        for number in 1...3 as ClosedRange<Int64> {
            var bond = Sample.bond(number)
            bond.state = number == 2 ? .unconfirmed : .confirmed
            store.append(.bond(.upsert(bond)))
        }
        try state.database.commit([store])
        return (state, store)
    }

    @Test(
        "Altered bond: each value is one that might have been written; the bond is none, and the others are as they were",
        arguments: [
            "UPDATE host_bond SET state = 2 WHERE id = 2",
            "UPDATE host_bond SET credential = 'credential 1' WHERE id = 2",
            "UPDATE host_bond SET credential = NULL WHERE id = 2", "UPDATE host_bond SET key_size = 7 WHERE id = 2",
            "UPDATE host_bond SET model = (model + 1) % 3 WHERE id = 2",
            "UPDATE host_bond SET secure_connections = NOT secure_connections WHERE id = 2",
            "UPDATE host_bond SET peer_address = peer_address + 1 WHERE id = 2",
            "UPDATE host_bond SET ediv = 1, rand = 2 WHERE id = 2", "UPDATE host_bond SET mac = NULL WHERE id = 2",
            "UPDATE host_bond SET mac = (SELECT mac FROM host_bond WHERE id = 1) WHERE id = 2",
        ])
    func altered(sql: String) throws {
        let (state, store) = try filled()
        try state.database.connection.execute(sql)
        var told: [DamagedRow] = []
        state.database.onDamagedRow = { told.append($0) }
        #expect(store.bond(BondID(2)) == nil)
        #expect(store.bondState(BondID(2)) == nil)
        #expect(store.bonds(after: nil, limit: 9).rows.map(\.id) == [BondID(1), BondID(3)])
        // Its address is known, as one that somebody replays would be, and is the address of no bond.
        let book = BondBook(localIdentity: Sample.identity(1), rest: store)
        let irk = try #require(Sample.bond(2).peerIRK)
        if case .bonded(let identity) = book.resolve(Toolbox.resolvablePrivateAddress(irk: AES128(key: irk), random: 1))
        {
            #expect(!book.bonds(with: identity).contains { $0.id == BondID(2) || $0.peerIRK == irk })
            #expect(book.confirmedBond(with: identity)?.id != BondID(2))
        }
        #expect(try store.launch().bonds.isEmpty)
        #expect(told.map(\.row) == ["1 2"])
        #expect(!state.database.hasFailed)
        // No state that it is given makes it whole.
        store.append(.bond(.promoted(BondID(2))))
        try state.database.commit([store])
        #expect(store.bond(BondID(2)) == nil)
    }

    @Test("Counters are not in the MAC, and a promotion makes a new one")
    func changes() throws {
        let (state, store) = try filled()
        store.append(.bond(.remoteSignCounter(BondID(2), 77)))
        store.append(.bond(.localSignCounterReserved(BondID(2), bound: 99)))
        store.append(.bond(.promoted(BondID(2))))
        try state.database.commit([store])
        #expect(store.bond(BondID(2))?.lastRemoteSignCounter == 77)
        #expect(store.bondState(BondID(2)) == .confirmed)
    }

    @Test(
        "Bonds without MACs are trusted once, by the first launch, in slices, and only where nothing says that they had them"
    )
    func adoption() throws {
        do {
            let (state, store) = try filled()
            for number in 4...600 as ClosedRange<Int64> { store.append(.bond(.upsert(Sample.bond(number)))) }
            try state.database.commit([store])
            try state.database.connection.execute(
                "UPDATE host_bond SET mac = NULL; DELETE FROM store_fact WHERE name LIKE 'bonds%'")
        }
        func count(_ state: StateStore) -> Int {
            let store = SQLiteHostStore(state, name: "lock")
            _ = try? store.launch()
            return store.bonds(after: nil, limit: 1_000).rows.count
        }
        do {
            let careful = try StateStore(
                path: scratch.database, machineKeyFile: scratch.directory + "/machine.key", credentialsDirectory: nil,
                components: [.host], adoptsRows: { false })
            #expect(count(careful) == 0)
        }
        do {
            let other = try StateStore(
                path: scratch.database, machineKeyFile: scratch.directory + "/machine.key", credentialsDirectory: nil,
                components: [.host], identity: "key")
            #expect(count(other) == 0)
        }
        do {
            let first = try scratch.open()
            #expect(count(first) == 600)
            try first.database.connection.execute("UPDATE host_bond SET mac = NULL WHERE id > 500")
        }
        #expect(count(try scratch.open()) == 500)
    }
}
