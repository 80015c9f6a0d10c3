import BluetoothCore
import BluetoothHost
import GATT
import SecurityManager

@Sendable func fuzzAdvertisingData(_ octets: [UInt8]) {
    let data = AdvertisingData(parsing: octets)
    require(data.services.count * 2 <= octets.count, "there are more services than octets for them")
    var record = AdvertisingRecord(localName: data.localName, services: data.services)
    record.discoverability = data.mode
    record.connectability = ConnectableMode(rawValue: UInt8(octets.count % 3)) ?? .connectable
    record.txPowerLevel = data.txPowerLevel
    record.includesAppearance = data.appearance != nil
    record.manufacturerData = data.manufacturerData
    record.serviceData = data.serviceData.filter { !$0.octets.isEmpty }
    record.solicitedServices = data.solicitedServices
    let appearance = data.appearance ?? 0
    let payload = AdvertisingData.payload(for: record, appearance: appearance)
    require(payload.data.count <= AdvertisingData.maximumOctets, "advertising data is too long")
    require(payload.scanResponse.count <= AdvertisingData.maximumOctets, "a scan response is too long")
    require(payload.scanResponse.isEmpty || record.connectability.isScannable, "nobody can ask for a scan response")
    let again = AdvertisingData(parsing: payload.data)
    require(again.mode == data.mode, "what was advertised is not read back")
    require(again.services.count <= data.services.count, "services were made up")
    require(AdvertisingData(parsing: payload.scanResponse).flags == nil, "flags are in the scan response")
    // With room for everything everything is there, and is read as it was written.
    let room = 4 * octets.count + 64
    guard let whole = AdvertisingData.extendedPayload(for: record, appearance: appearance, room: room) else { return }
    require(whole.data.count <= room, "an extended advertisement is too long")
    let read = AdvertisingData(parsing: whole.data)
    require(read.txPowerLevel == data.txPowerLevel && read.appearance == data.appearance, "a level was lost")
    require(read.manufacturerData == data.manufacturerData, "manufacturer data was lost")
    require(read.serviceData.count <= record.serviceData.count, "service data was made up")
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
