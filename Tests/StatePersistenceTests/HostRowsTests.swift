import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import SecurityManager
import TestSupport
import Testing

@testable import StatePersistence

@Suite("The host's rows, read when they are asked for")
struct HostRowsTests {
    let scratch = Scratch()

    @Test("are those that memory has, committed or not")
    func random() throws {
        var generator = SeededGenerator(announcedBy: "HostRowsTests.random")
        let seed = generator.seed
        let memory = MemoryHostStore()
        let state = try scratch.open()
        let store = SQLiteHostStore(state, name: "lock")
        store.append(.localIdentity(Sample.identity(1)))
        memory.append(.localIdentity(Sample.identity(1)))
        try state.database.commit([store, memory])
        for round in 0..<60 {
            for _ in 0..<Int.random(in: 0...8, using: &generator) {
                let mutation = HostMutation.random(using: &generator)
                memory.append(mutation)
                store.append(mutation)
                expectSame(memory, store, "round \(round), seed \(seed)")
            }
            try state.database.commit([store, memory])
            expectSame(memory, store, "round \(round), seed \(seed)")
            expectEqual(try store.launch(), memory.launch(), "round \(round), seed \(seed)")
        }
    }

    private func expectSame(_ a: any HostRows, _ b: any HostRows, _ comment: Comment) {
        for number in 1...4 as ClosedRange<Int64> {
            let id = BondID(number)
            #expect(a.bond(id) == b.bond(id), comment)
            #expect(a.bondState(id) == b.bondState(id), comment)
            #expect(a.isKept(id) == b.isKept(id), comment)
            #expect(a.client(UInt64(number)) == b.client(UInt64(number)), comment)
            #expect(
                a.peer(Sample.peer(UInt64(number)).identifier) == b.peer(Sample.peer(UInt64(number)).identifier),
                comment)
        }
        for number in 1...9 as ClosedRange<UInt64> {
            let identity = Sample.identityAddress(number)
            #expect(a.bonds(with: identity) == b.bonds(with: identity), comment)
            #expect(a.peer(at: identity.address) == b.peer(at: identity.address), comment)
            let credential = "credential \(number)"
            #expect(a.bonds(enrolledFor: credential) == b.bonds(enrolledFor: credential), comment)
        }
        #expect(a.hasBonds == b.hasBonds, comment)
        #expect(a.clients() == b.clients(), comment)
        #expect(a.peerNames() == b.peerNames(), comment)
        for limit in [1, 2, 9] {
            var cursor: PeerIdentifier?
            repeat {
                let page = a.peersWithoutBond(after: cursor, limit: limit)
                #expect(page == b.peersWithoutBond(after: cursor, limit: limit), comment)
                cursor = page.next
            } while cursor != nil
        }
        for limit in [1, 2, 5] {
            #expect(all(limit, a.bonds).map(\.id) == all(limit, b.bonds).map(\.id), comment)
            #expect(all(limit, a.marks).map(\.id) == all(limit, b.marks).map(\.id), comment)
            #expect(Set(all(limit, a.confirmedBonds)) == Set(all(limit, b.confirmedBonds)), comment)
        }
    }

    private func all<Row>(_ limit: Int, _ page: (BondCursor?, Int) -> BondPage<Row>) -> [Row] {
        var rows: [Row] = []
        var cursor: BondCursor?
        repeat {
            let slice = page(cursor, limit)
            rows += slice.rows
            cursor = slice.next
        } while cursor != nil
        return rows.sorted { "\($0)" < "\($1)" }
    }

    private func filled() throws -> (StateStore, SQLiteHostStore) {
        let state = try scratch.open()
        let store = SQLiteHostStore(state, name: "lock")
        store.append(.localIdentity(Sample.identity(1)))
        for number in 1...3 as ClosedRange<UInt64> {
            var bond = Sample.bond(Int64(number))
            bond.state = .confirmed
            store.append(.bond(.upsert(bond)))
            store.append(.peer(Sample.peer(number)))
            store.append(
                .gatt(.clientCharacteristicConfiguration(bond: number, handle: AttributeHandle(9), value: .indication)))
        }
        try state.database.commit([store])
        return (state, store)
    }

    @Test(
        "Damaged bond: it is none, it is told once, it can be deleted, and the others are as they were",
        arguments: [
            "UPDATE host_bond SET keys = (SELECT keys FROM host_bond WHERE id = 1) WHERE id = 2",
            "UPDATE host_bond SET keys = zeroblob(length(keys)) WHERE id = 2",
            "UPDATE host_bond SET model = 99 WHERE id = 2",
            "UPDATE host_bond SET key_size = 4096 WHERE id = 2",
            "UPDATE host_bond SET peer_address_kind = 7 WHERE id = 2",
        ])
    func damagedBond(sql: String) throws {
        let (state, store) = try filled()
        try state.database.connection.execute(sql)
        var told: [DamagedRow] = []
        state.database.onDamagedRow = { told.append($0) }
        let snapshot = try store.launch()
        let book = BondBook(localIdentity: Sample.identity(1), bonds: snapshot.bonds, rest: store)
        for _ in 0..<2 {
            #expect(book.bond(BondID(2)) == nil)
            #expect(book.bondForEncryption(with: Sample.identityAddress(2)) == nil)
            #expect(book.bonds.map(\.id) == [BondID(1), BondID(3)])
        }
        #expect(Set(told.map(\.table)) == ["host_bond"])
        #expect(Set(told.map(\.row)) == ["1 2"])
        #expect(told.count == 1)
        for number in [1, 3] as [UInt64] {
            let address = Toolbox.resolvablePrivateAddress(irk: AES128(key: Sample.secret(number + 1)), random: 5)
            #expect(book.resolve(address) == .bonded(Sample.identityAddress(number)))
            #expect(book.confirmedBond(with: Sample.identityAddress(number))?.ltk == Sample.secret(number + 2))
        }
        #expect(!state.database.hasFailed)
        #expect(book.delete(BondID(2)) == [.delete(BondID(2))])
        store.append(.bond(.delete(BondID(2))))
        try state.database.commit([store])
        #expect(!store.isKept(BondID(2)))
        #expect(throws: Never.self) { try store.load() }
    }

    @Test("Damaged peer or client: nothing is remembered of it, it is told, and the others are as they were")
    func damagedPeerAndClient() throws {
        let (state, store) = try filled()
        try state.database.connection.execute(
            """
            UPDATE host_peer SET address_kind = 9 WHERE name = 'peer 2';
            UPDATE host_client_configuration SET value = 70000 WHERE bond = 2
            """)
        var told: Set<String> = []
        state.database.onDamagedRow = { told.insert($0.table) }
        #expect(store.peer(Sample.peer(2).identifier) == nil)
        #expect(store.client(2) == nil)
        #expect(store.peer(Sample.peer(1).identifier) == Sample.peer(1))
        #expect(store.client(3)?.configurations == [AttributeHandle(9): .indication])
        #expect(store.bond(BondID(2)) != nil)
        #expect(told == ["host_peer", "host_client_configuration"])
        #expect(!state.database.hasFailed)
    }

    @Test("A page that cannot be read: the answer is nothing, and no commit succeeds any more, not even an empty one")
    func unreadablePage() throws {
        do {
            let (state, _) = try filled()
            // One row on a page of its own, at the file's end.
            try state.database.connection.execute("UPDATE host_peer SET remote_database = randomblob(3900)")
        }
        try scratch.dropLog()
        let state = try scratch.open()
        let store = SQLiteHostStore(state, name: "lock")
        _ = try store.launch()
        let rows = try state.database.statement("SELECT rootpage FROM sqlite_schema WHERE name = 'host_peer'")
            .firstRow { (row) throws(StoreError) in try row.integer(0, as: Int.self) }
        let root = try #require(rows)
        // Behind the look, as a medium fails.
        Fault.overwrite(
            scratch.database, at: (root - 1) * DatabaseFile.pageOctets, with: [UInt8](repeating: 0xFF, count: 64))
        #expect(store.peer(Sample.peer(1).identifier) == nil)
        #expect(store.hasPending)
        #expect(throws: StoreError.self) { try state.database.commit([store]) }
    }
}
