import BluetoothCore
import LockPeripheral
import LockProtocol
import StatePersistence
import Testing

@testable import LockPersistence

@Suite("The alarms that are owed, in the file")
struct OwedAlarmsFactTests {
    private let fact = StoredFact(OwedAlarmsFact.name)
    private let owed = [
        OwedAlarm(.forced(.door), on: 812, hasMore: true),
        OwedAlarm(.duress(of: CredentialID(rawValue: .max)), on: .max),
    ]

    private func owe(_ alarms: [OwedAlarm]) throws { try fact.commit(.owedAlarms(alarms)) }

    @Test("are there at the next launch, until all of them have been told")
    func kept() throws {
        #expect(try fact.launch().owedAlarms == [])
        try owe(owed)
        #expect(try fact.launch().owedAlarms == owed)
        #expect(try fact.open().1.load().owedAlarms == owed)
        try owe([])
        #expect(try fact.launch().owedAlarms == [])
    }

    @Test(
        "What somebody else wrote there is a damaged row, which is told, and nothing is owed; the next alarm puts it right",
        arguments: StoredFact.Alteration.allCases)
    func altered(alteration: StoredFact.Alteration) throws {
        try owe(owed)
        try fact.alter(alteration)
        // As often as the lock begins.
        for _ in 0..<2 {
            let (state, store) = try fact.open()
            #expect(try store.launch().owedAlarms == [])
            #expect(state.database.damagedRowCount == 1)
        }
        try owe(owed)
        #expect(try fact.launch().owedAlarms == owed)
    }

    @Test("What this machine has wrapped there and is no list of alarms is damaged, too")
    func misfits() throws {
        do {
            let (state, _) = try fact.open()
            let value = state.keys.wrap(
                OwedAlarm(.ajar, on: 1).encoded + [0], table: "store_fact", column: "value", row: fact.name)
            try state.database.transaction {
                try state.database.statement("INSERT OR REPLACE INTO store_fact VALUES (?, ?)")
                    .run([.text(fact.name), .blob(value)])
            }
        }
        let (state, store) = try fact.open()
        #expect(try store.launch().owedAlarms == [] && state.database.damagedRowCount == 1)
    }

    @Test("Of another machine nothing is owed")
    func otherMachine() throws {
        try owe(owed)
        #expect(try fact.launchElsewhere().owedAlarms == [])
    }
}
