import BluetoothCore
import TestSupport
import Testing

@testable import GATT

@Suite struct ClientRecordsTests {
    @Test("Who has configured a descriptor is what a look at every record says, by random changes")
    func configured() {
        var random = SeededGenerator(announcedBy: "ClientRecordsTests.configured")
        var records = ClientRecords([])
        var plain: [UInt64: GATTClientRecord] = [:]
        for _ in 0..<2_000 {
            let bond = random.next() % 5
            let handle = AttributeHandle(UInt16(1 + random.next() % 6))
            let value = ClientCharacteristicConfiguration(rawValue: UInt16(random.next() % 3))
            let mutation: GATTMutation
            switch random.next() % 8 {
            case 0:
                let end = AttributeHandle(handle.rawValue + UInt16(random.next() % 3))
                mutation = .handlesRemoved(handle...end)
            case 1: mutation = .changeAware(bond: bond, databaseHash: [1])
            case 2:
                records[bond] = nil
                plain[bond] = nil
                continue
            case 3:
                var record = GATTClientRecord(bond: bond)
                record.configurations = [handle: .notification]
                records[bond] = record
                plain[bond] = record
                continue
            default: mutation = .clientCharacteristicConfiguration(bond: bond, handle: handle, value: value)
            }
            records.apply(mutation)
            mutation.apply(to: &plain)
            #expect(records.byBond == plain)
            for number in 1...8 as ClosedRange<UInt16> {
                let handle = AttributeHandle(number)
                let found = records.configured(at: handle)
                let expected = plain.filter { $0.value.configurations[handle]?.isEmpty == false }
                #expect(found.map(\.bond) == expected.keys.sorted())
                #expect(found.allSatisfy { expected[$0.bond]?.configurations[handle] == $0.wanted })
            }
        }
    }
}
