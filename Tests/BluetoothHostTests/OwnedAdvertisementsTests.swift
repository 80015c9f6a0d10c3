import BluetoothCore
import Testing

@testable import BluetoothHost

/// Advertisements are laid out once, and anew whenever anything that is in them is another.
@Suite struct OwnedAdvertisementsTests {
    private let owners: [RestorationLedger.Owner]

    init() {
        var ledger = RestorationLedger([:])
        owners = (0..<2).map { _ in ledger.register(role: .peripheral, identifier: nil).owner }
    }

    private func source(_ owner: Int, _ record: AdvertisingRecord) -> OwnedAdvertisements.Source {
        OwnedAdvertisements.Source(owner: owners[owner], record: record)
    }

    /// Owners and payloads, in order.
    private func expect(_ advertisements: OwnedAdvertisements, _ expected: [(Int, Advertiser.Payload)]) {
        #expect(advertisements.wishes.map(\.owner) == expected.map { owners[$0.0] })
        #expect(advertisements.wishes.map(\.payload) == expected.map(\.1))
    }

    @Test("A record, an owner or the controller's room that is another makes other advertisements")
    func changes() throws {
        var advertisements = OwnedAdvertisements()
        let short = AdvertisingRecord(localName: "door", services: [0xFFF0])
        var long = short
        long.manufacturerData = Array(repeating: 7, count: 100)
        let plain = AdvertisingData.payload(for: short)

        advertisements.update([source(0, short)], appearance: 0, room: 31)
        expect(advertisements, [(0, plain)])
        advertisements.update([source(0, short)], appearance: 0, room: 31)
        expect(advertisements, [(0, plain)])
        advertisements.update([source(1, short)], appearance: 0, room: 31)
        expect(advertisements, [(1, plain)])
        advertisements.update([source(1, long)], appearance: 0, room: 31)
        expect(advertisements, [(1, AdvertisingData.payload(for: long))])
        advertisements.update([source(1, long), source(0, short)], appearance: 0, room: 251)
        let whole = try #require(AdvertisingData.extendedPayload(for: long, room: 251))
        expect(advertisements, [(1, AdvertisingData.payload(for: long)), (0, plain), (1, whole)])
        advertisements.update([], appearance: 0, room: 251)
        expect(advertisements, [])
    }
}
