import BluetoothCore
import LockPeripheral
import StatePersistence
import TestSupport
import Testing

@testable import LockPersistence

@Suite("The time that a manager has told")
struct ToldTimeTests {
    private let scratch = Scratch()
    private let told = ToldTime(boot: BootID(bits: 0x0102 << 112), bootSeconds: 1_800_000_000)

    private func open() throws -> (StateStore, SQLiteLockStore) {
        let state = try scratch.openState(nil)
        return (state, SQLiteLockStore(state, seal: nil))
    }

    private func tell(_ told: ToldTime) throws {
        let (state, store) = try open()
        store.append(.toldTime(told))
        try state.database.commit([store])
    }

    @Test("is there at the next launch, and the last one told counts")
    func kept() throws {
        #expect(try open().1.launch().toldTime == nil)
        try tell(ToldTime(boot: BootID(bits: .max), bootSeconds: .min))
        #expect(try open().1.launch().toldTime == ToldTime(boot: BootID(bits: .max), bootSeconds: .min))
        try tell(told)
        #expect(try open().1.launch().toldTime == told)
        #expect(try open().1.load().toldTime == told)
    }

    @Test(
        "What somebody else wrote there counts for nothing, is told, and is put right by the next word",
        arguments: [
            "UPDATE store_fact SET value = zeroblob(52) WHERE name = 'lock.told-time'",
            "UPDATE store_fact SET value = x'' WHERE name = 'lock.told-time'",
            "UPDATE store_fact SET value = CAST(substr(value, 2) || substr(value, 1, 1) AS BLOB) WHERE name = 'lock.told-time'",
            """
            UPDATE store_fact SET value = (SELECT value FROM store_fact WHERE name != 'lock.told-time' LIMIT 1)
            WHERE name = 'lock.told-time'
            """,
        ] as [StaticString])
    func altered(sql: StaticString) throws {
        try tell(told)
        do {
            let (state, _) = try open()
            try state.database.transaction { try state.database.statement(sql).run() }
        }
        do {
            let (state, store) = try open()
            #expect(try store.launch().toldTime == nil)
            #expect(state.database.damagedRowCount == 1)
        }
        try tell(told)
        #expect(try open().1.launch().toldTime == told)
    }

    @Test("Of another machine it counts for nothing")
    func otherMachine() throws {
        try tell(told)
        let database = try scratch.open()
        #expect(try SQLiteLockStore(database).launch().toldTime == nil)
    }
}
