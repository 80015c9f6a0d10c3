import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager

@Sendable func fuzzAdvertisingData(_ octets: [UInt8]) {
    let data = AdvertisingData(parsing: octets)
    require(data.services.count * 2 <= octets.count, "there are more services than octets for them")
    let record = AdvertisingRecord(localName: data.localName, services: data.services)
    let payload = AdvertisingData.payload(for: record)
    require(payload.data.count <= AdvertisingData.maximumOctets, "advertising data is too long")
    require(payload.scanResponse.count <= AdvertisingData.maximumOctets, "a scan response is too long")
    let again = AdvertisingData(parsing: payload.data)
    require(again.flags == AdvertisingData.generalDiscoverableFlags, "what was advertised is not read back")
    require(again.services.count <= data.services.count, "services were made up")
}

/// The first octet says as what the others are read: a damaged file may hold anything anywhere.
@Sendable func fuzzStoredTree(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    let kind = input.octet()
    let stored = input.rest()
    switch kind & 3 {
    case 0:
        requireRoundTrip(ServiceDefinition.self, stored)
        guard let definition = try? ServiceDefinition(exactly: stored) else { return }
        var server = GATTServer(configuration: GATTServerConfiguration(deviceName: "fuzz"))
        let handle = kind & 0x80 == 0 ? nil : AttributeHandle(UInt16(kind) << 8 | 0xF0)
        guard let service = try? server.publish(definition, at: handle) else { return }
        require(service.declaration <= service.end, "a service ends before it begins")
    case 1: requireRoundTrip(RemoteDatabase.self, stored)
    case 2: requireRoundTrip(RemoteService.self, stored)
    default: requireRoundTrip(CharacteristicDefinition.self, stored)
    }
}

@Sendable func fuzzSMPPDU(_ octets: [UInt8]) {
    requireRoundTrip(SMPPDU.self, octets)
    requireRoundTrip(PairingFeatures.self, octets)
}
