import BluetoothCore
import LockPeripheral
import LockProtocol
import MemoryStores
import StatePersistence
import TestSupport
import Testing

@testable import LockPersistence

@Suite("The lock's rows, read when they are asked for")
struct LockRowsTests {
    let scratch = Scratch()

    @Test("are those that memory has, committed or not, by random facts with edge values")
    func random() throws {
        var generator = SeededGenerator(announcedBy: "LockRowsTests.random")
        let memory = MemoryLockStore()
        let database = try scratch.open()
        let store = SQLiteLockStore(database)
        var head = AuditHead.empty
        for round in 0..<60 {
            for _ in 0..<Int(generator.next() % 8) {
                let mutation = LockMutation.random(Int(generator.next() % 10), using: &generator, head: &head)
                memory.append(mutation)
                store.append(mutation)
                expectSame(memory, store, "round \(round), seed \(generator.seed)")
            }
            try database.commit([memory, store])
            expectSame(memory, store, "round \(round), seed \(generator.seed)")
            #expect(try store.launch() == memory.launch(), "round \(round), seed \(generator.seed)")
        }
    }

    private func expectSame(_ a: any LockRows, _ b: any LockRows, _ comment: Comment) {
        for bond in [0, 7, UInt64(Int64.max), .max] {
            #expect(a.holder(of: bond) == b.holder(of: bond), comment)
            #expect(a.isNamed(bond) == b.isNamed(bond), comment)
        }
        for name in ["", "Änne", "'; --", "nobody"] {
            #expect(a.credentials(named: name) == b.credentials(named: name), comment)
        }
        for user in ["Änne", "user", "'; --", "nobody"] {
            #expect(a.credentials(ofUser: user) == b.credentials(ofUser: user), comment)
        }
        for after in [nil, "", "Änne", "user"] {
            #expect(users(a, after) == users(b, after), comment)
        }
        #expect(a.credentialNames() == b.credentialNames(), comment)
        for limit in 1...4 {
            for cursor in [nil, CredentialID(rawValue: .max), CredentialID(rawValue: 1), CredentialID(rawValue: 2)] {
                #expect(
                    a.credentials(after: cursor, limit: limit) == b.credentials(after: cursor, limit: limit), comment)
            }
        }
    }

    /// Those of whom there is something, page by page: who has gone in a commit to come may be named, and has nothing.
    private func users(_ rows: any LockRows, _ first: String?) -> [String] {
        var (found, after): ([String], String?) = ([], first)
        while case let page = rows.users(after: after, limit: 2), let last = page.last {
            found += page.filter { !rows.credentials(ofUser: $0).isEmpty }
            after = last
        }
        return found
    }

    private func filled() throws -> (Database, SQLiteLockStore) {
        let database = try scratch.open()
        let store = SQLiteLockStore(database)
        for number in 1...3 as ClosedRange<UInt64> {
            store.append(
                .credential(
                    Credential(id: CredentialID(rawValue: number), name: "n\(number)", role: .resident, bond: number))
            )
            store.append(
                .lastCommand(
                    bond: number,
                    LastCommand(challenge: ChallengeID(bits: number), signCounter: 1, result: .done, phase: .done)))
            store.append(.receiptCounters(bond: number, reservedBelow: 64))
        }
        try database.commit([store])
        return (database, store)
    }

    @Test("Damaged credential: nobody has it, its bond keeps its name, it is told once, and the others have theirs")
    func damagedCredential() throws {
        let (database, store) = try filled()
        var told: [DamagedRow] = []
        database.onDamagedRow = { told.append($0) }
        try database.transaction { try database.statement("UPDATE lock_credential SET role = 99 WHERE id = 2").run() }
        for _ in 0..<2 {
            #expect(store.holder(of: 2).credentials.isEmpty)
            #expect(store.credentials(named: "n2").isEmpty)
            // One page of two: the damaged row takes no one else's place, and ends no list.
            #expect(store.credentials(after: nil, limit: 2).map(\.id.rawValue) == [1, 3])
        }
        #expect(store.isNamed(2))
        #expect(told.map(\.table) == ["lock_credential"])
        #expect(told.map(\.row) == ["2"])
        #expect(store.holder(of: 1).credentials.map(\.name) == ["n1"])
        #expect(try store.launch() == LockSnapshot())
        #expect(throws: StoreError.self) { try store.load() }
        store.append(.credentialRemoved(CredentialID(rawValue: 2)))
        try database.commit([store])
        #expect(!store.isNamed(2))
    }

    @Test("Damaged receipt counter: all of them count as spent, so that none is ever used twice")
    func damagedCounter() throws {
        let (database, store) = try filled()
        try database.transaction {
            try database.statement("UPDATE lock_bond SET receipts_reserved_below = -1 WHERE bond = 2").run()
            try database.statement("UPDATE lock_bond SET result = 999 WHERE bond = 3").run()
        }
        #expect(store.holder(of: 2).receiptCounter == .max)
        #expect(store.holder(of: 1).receiptCounter == 64)
        #expect(store.holder(of: 3).lastCommand == nil)
        #expect(store.holder(of: 3).credentials.map(\.name) == ["n3"])
    }
}
