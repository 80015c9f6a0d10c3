import BluetoothCore
import HCI

/// One advertisement or scan response, however the controller told of it.
package struct HeardAdvertisement: Equatable, Sendable {
    package var address: DeviceAddress
    package var isConnectable: Bool
    package var isScanResponse: Bool
    /// dBm; nil when the controller does not know.
    package var rssi: Int8?
    package var data: [UInt8]

    package init(
        address: DeviceAddress, isConnectable: Bool, isScanResponse: Bool = false, rssi: Int8?, data: [UInt8]
    ) {
        self.address = address
        self.isConnectable = isConnectable
        self.isScanResponse = isScanResponse
        self.rssi = rssi
        self.data = data
    }

    /// nil for an address of a kind that nobody knows.
    package init?(_ report: LEAdvertisingReport) {
        guard let address = report.address.address else { return nil }
        self.init(
            address: address, isConnectable: report.eventType.isConnectable,
            isScanResponse: report.eventType == .scanResponse, rssi: report.rssi, data: report.data)
    }
}

/// Joins the pieces in which a controller reports long advertisements. What a stranger leaves unfinished is bounded, and
/// gives way to what comes later.
///
/// Core 5.4, Vol 4, Part E, 7.7.65.13 (LE Extended Advertising Report event)
package struct AdvertisementAssembler {
    /// Advertisements of which more is to come; the oldest is given up beyond this.
    package static let unfinishedMaximum = 16
    /// Core 5.4, Vol 4, Part E, 7.8.57: no advertisement has more data than this. What is beyond is dropped.
    package static let advertisementMaximumOctets = 1650

    private struct Key: Equatable {
        var address: LEPeerAddress
        var advertisingSID: UInt8?
        var isScanResponse: Bool

        init(_ report: LEExtendedAdvertisingReport) {
            address = report.address
            advertisingSID = report.advertisingSID
            isScanResponse = report.eventType.contains(.scanResponse)
        }
    }

    private var unfinished: [(key: Key, data: [UInt8])] = []

    package init() {}

    /// The whole advertisement, or what there is of a truncated one, when nothing more of it is to come. Nobody answers an
    /// anonymous one.
    package mutating func receive(_ report: LEExtendedAdvertisingReport) -> HeardAdvertisement? {
        guard let address = report.address.address else { return nil }
        let key = Key(report)
        var data: [UInt8] = []
        if let index = unfinished.firstIndex(where: { $0.key == key }) { data = unfinished.remove(at: index).data }
        data += report.data.prefix(Self.advertisementMaximumOctets - data.count)
        if report.eventType.contains(.moreToCome) {
            if unfinished.count == Self.unfinishedMaximum { unfinished.removeFirst() }
            unfinished.append((key, data))
            return nil
        }
        return HeardAdvertisement(
            address: address, isConnectable: report.eventType.contains(.connectable),
            isScanResponse: report.eventType.contains(.scanResponse), rssi: report.rssi, data: data)
    }
}
