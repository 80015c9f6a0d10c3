import BluetoothCore
import LockPeripheral
import StatePersistence
import Testing

@testable import LockPersistence

@Suite("The time that a manager has told")
struct ToldTimeTests {
    private let fact = StoredFact(ToldTimeFact.name)
    private let told = ToldTime(boot: BootID(bits: 0x0102 << 112), bootSeconds: 1_800_000_000)

    private func tell(_ told: ToldTime) throws { try fact.commit(.toldTime(told)) }

    @Test("is there at the next launch, and the last one told counts")
    func kept() throws {
        #expect(try fact.launch().toldTime == nil)
        try tell(ToldTime(boot: BootID(bits: .max), bootSeconds: .min))
        #expect(try fact.launch().toldTime == ToldTime(boot: BootID(bits: .max), bootSeconds: .min))
        try tell(told)
        #expect(try fact.launch().toldTime == told)
        #expect(try fact.open().1.load().toldTime == told)
    }

    @Test(
        "What somebody else wrote there counts for nothing, is told, and is put right by the next word",
        arguments: StoredFact.Alteration.allCases)
    func altered(alteration: StoredFact.Alteration) throws {
        try tell(told)
        try fact.alter(alteration)
        do {
            let (state, store) = try fact.open()
            #expect(try store.launch().toldTime == nil)
            #expect(state.database.damagedRowCount == 1)
        }
        try tell(told)
        #expect(try fact.launch().toldTime == told)
    }

    @Test("Of another machine it counts for nothing")
    func otherMachine() throws {
        try tell(told)
        #expect(try fact.launchElsewhere().toldTime == nil)
    }
}
