import BluetoothCore

/// What is advertised: the name and services of Apple's dictionary, and what only this host's own API can ask for.
package struct AdvertisingRecord: Equatable, Sendable {
    package var localName: String?
    package var services: [BluetoothUUID]
    package var discoverability = DiscoverableMode.general
    package var connectability = ConnectableMode.connectable
    /// When the limited discoverable mode ends. ``Host/startAdvertising(_:_:)`` sets it.
    package var limitedUntil: BootDeadline?
    /// dBm at the antenna, which the board's owner knows better than its controller; −127 to 127.
    package var txPowerLevel: Int8?
    /// Whether the appearance of the GAP service is advertised.
    package var includesAppearance = false
    /// The company identifier, least significant octet first, and what follows it.
    package var manufacturerData: [UInt8]?
    package var serviceData: [AdvertisedServiceData] = []
    /// Services of a central that this side would use.
    package var solicitedServices: [BluetoothUUID] = []

    package init(localName: String?, services: [BluetoothUUID]) {
        self.localName = localName
        self.services = services
    }

    /// What the structures of advertising data can say: what cannot be written down so that it is read again is refused,
    /// and not left out. Whether there is room for it on the air is another question.
    ///
    /// Core Specification Supplement, Part A, 1.4, 1.5, 1.10 and 1.11
    package var isWellFormed: Bool {
        let longest = AdvertisingData.structureMaximumOctets
        return txPowerLevel != .min && (manufacturerData.map { 2...longest ~= $0.count } ?? true)
            && serviceData.allSatisfy { $0.service.encodedLength + $0.octets.count <= longest && !$0.octets.isEmpty }
    }
}

/// Core Specification Supplement, Part A, 1.11 (Service Data)
package struct AdvertisedServiceData: Hashable, Sendable {
    package var service: BluetoothUUID
    package var octets: [UInt8]

    package init(service: BluetoothUUID, octets: [UInt8]) {
        self.service = service
        self.octets = octets
    }
}
