import BluetoothCore
import LockPeripheral
import LockProtocol
import StatePersistence
import TestSupport
import Testing

@testable import LockPersistence

@Suite("The alarms that are owed, in the file")
struct OwedAlarmsFactTests {
    private let scratch = Scratch()
    private let owed = [
        OwedAlarm(.forced(.door), on: 812, hasMore: true),
        OwedAlarm(.duress(of: CredentialID(rawValue: .max)), on: .max),
    ]

    private func open() throws -> (StateStore, SQLiteLockStore) {
        let state = try scratch.openState(nil)
        return (state, SQLiteLockStore(state, seal: nil))
    }

    private func owe(_ alarms: [OwedAlarm]) throws {
        let (state, store) = try open()
        store.append(.owedAlarms(alarms))
        try state.database.commit([store])
    }

    @Test("are there at the next launch, until all of them have been told")
    func kept() throws {
        #expect(try open().1.launch().owedAlarms == [])
        try owe(owed)
        #expect(try open().1.launch().owedAlarms == owed)
        #expect(try open().1.load().owedAlarms == owed)
        try owe([])
        #expect(try open().1.launch().owedAlarms == [])
    }

    @Test(
        "What somebody else wrote there is a damaged row, which is told, and nothing is owed; the next alarm puts it right",
        arguments: [
            "UPDATE store_fact SET value = zeroblob(66) WHERE name = 'lock.alarms'",
            "UPDATE store_fact SET value = x'' WHERE name = 'lock.alarms'",
            "UPDATE store_fact SET value = CAST(substr(value, 2) || substr(value, 1, 1) AS BLOB) WHERE name = 'lock.alarms'",
            """
            UPDATE store_fact SET value = (SELECT value FROM store_fact WHERE name != 'lock.alarms' LIMIT 1)
            WHERE name = 'lock.alarms'
            """,
        ] as [StaticString])
    func altered(sql: StaticString) throws {
        try owe(owed)
        do {
            let (state, _) = try open()
            try state.database.transaction { try state.database.statement(sql).run() }
        }
        // As often as the lock begins.
        for _ in 0..<2 {
            let (state, store) = try open()
            #expect(try store.launch().owedAlarms == [])
            #expect(state.database.damagedRowCount == 1)
        }
        try owe(owed)
        #expect(try open().1.launch().owedAlarms == owed)
    }

    @Test("What this machine has wrapped there and is no list of alarms is damaged, too")
    func misfits() throws {
        do {
            let (state, _) = try open()
            let value = state.keys.wrap(
                OwedAlarm(.ajar, on: 1).encoded + [0], table: "store_fact", column: "value", row: OwedAlarmsFact.name)
            try state.database.transaction {
                try state.database.statement("INSERT OR REPLACE INTO store_fact VALUES (?, ?)")
                    .run([.text(OwedAlarmsFact.name), .blob(value)])
            }
        }
        let (state, store) = try open()
        #expect(try store.launch().owedAlarms == [] && state.database.damagedRowCount == 1)
    }

    @Test("Of another machine nothing is owed")
    func otherMachine() throws {
        try owe(owed)
        let database = try scratch.open()
        #expect(try SQLiteLockStore(database).launch().owedAlarms == [])
    }
}
