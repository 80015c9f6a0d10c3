/// The advertisements of all managers, as every scanner understands them; behind them, where the controller has room, those
/// that are longer than such a one in full. They are laid out when one of them changes, and not each time that GAP looks.
struct OwnedAdvertisements {
    struct Source: Equatable {
        let owner: RestorationLedger.Owner
        let record: AdvertisingRecord
    }

    private(set) var wishes: [AdvertisingSets<RestorationLedger.Owner>.Wish] = []
    private var sources: [Source] = []
    private var room = 0

    /// `appearance` never changes. `room`: octets that the controller has for an advertisement in full.
    mutating func update(_ sources: [Source], appearance: UInt16, room: Int) {
        guard sources != self.sources || room != self.room else { return }
        (self.sources, self.room) = (sources, room)
        wishes = sources.map {
            .init(owner: $0.owner, payload: AdvertisingData.payload(for: $0.record, appearance: appearance))
        }
        wishes += sources.compactMap { source in
            AdvertisingData.extendedPayload(for: source.record, appearance: appearance, room: room).map {
                .init(owner: source.owner, payload: $0)
            }
        }
    }
}
