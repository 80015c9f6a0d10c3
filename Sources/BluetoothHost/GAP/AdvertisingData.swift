import BluetoothCore

/// Advertising data as AD structures, read from whatever a stranger sends.
///
/// Core 5.4, Vol 3, Part C, 11 (Advertising and scan response data format); Core Specification Supplement, Part A
package struct AdvertisingData: Equatable, Sendable {
    /// Of a legacy PDU.
    package static let maximumOctets = 31
    /// What one structure carries behind its length and its type.
    package static let structureMaximumOctets = 254

    package var flags: AdvertisingFlags?
    package var services: [BluetoothUUID] = []
    package var solicitedServices: [BluetoothUUID] = []
    package var serviceData: [AdvertisedServiceData] = []
    package var localName: String?
    package var isNameShortened = false
    /// dBm.
    package var txPowerLevel: Int8?
    package var appearance: UInt16?
    /// The company identifier, least significant octet first, and what follows it; never less than two octets.
    package var manufacturerData: [UInt8]?

    package init() {}

    /// Whoever says nothing of it is in no discoverable mode.
    package var mode: DiscoverableMode { flags?.mode ?? .nonDiscoverable }

    /// Reads every structure that is whole and skips what it does not know; what is malformed ends the reading, since
    /// nothing behind it can be trusted to start where it seems to. A structure of a length that its type does not have is
    /// passed over.
    package init(parsing octets: [UInt8]) {
        var reader = ByteReader(octets.span.bytes)
        while let length = try? reader.readUInt8(), length > 0,
            let type = try? reader.readUInt8(), let value = try? reader.readBytes(Int(length) - 1)
        {
            take(ADType(rawValue: type), value)
        }
    }

    private mutating func take(_ type: ADType, _ value: [UInt8]) {
        switch type {
        // Octets that are left out are zero.
        case .flags: flags = AdvertisingFlags(rawValue: value.first ?? 0)
        case .incompleteServices16, .completeServices16: services += Self.uuids(value, octetsEach: 2)
        case .incompleteServices32, .completeServices32: services += Self.uuids(value, octetsEach: 4)
        case .incompleteServices128, .completeServices128: services += Self.uuids(value, octetsEach: 16)
        case .solicitedServices16: solicitedServices += Self.uuids(value, octetsEach: 2)
        case .solicitedServices32: solicitedServices += Self.uuids(value, octetsEach: 4)
        case .solicitedServices128: solicitedServices += Self.uuids(value, octetsEach: 16)
        case .serviceData16: takeServiceData(value, uuidOctets: 2)
        case .serviceData32: takeServiceData(value, uuidOctets: 4)
        case .serviceData128: takeServiceData(value, uuidOctets: 16)
        case .shortenedName, .completeName:
            localName = String(decoding: value, as: UTF8.self)
            isNameShortened = type == .shortenedName
        case .txPowerLevel where value.count == 1: txPowerLevel = Int8(bitPattern: value[0])
        case .appearance where value.count == 2: appearance = UInt16(value[0]) | UInt16(value[1]) << 8
        case .manufacturerData where value.count >= 2: manufacturerData = value
        default: break
        }
    }

    private static func uuids(_ value: [UInt8], octetsEach: Int) -> [BluetoothUUID] {
        var reader = ByteReader(value.span.bytes)
        var uuids: [BluetoothUUID] = []
        while let uuid = try? uuid(&reader, octets: octetsEach) { uuids.append(uuid) }
        return uuids
    }

    private mutating func takeServiceData(_ value: [UInt8], uuidOctets: Int) {
        var reader = ByteReader(value.span.bytes)
        guard let uuid = try? Self.uuid(&reader, octets: uuidOctets) else { return }
        serviceData.append(AdvertisedServiceData(service: uuid, octets: Array(value.dropFirst(uuidOctets))))
    }

    private static func uuid(_ reader: inout ByteReader, octets: Int) throws(DecodingError) -> BluetoothUUID {
        guard octets == 4 else { return try BluetoothUUID(decoding: &reader, length: octets) }
        return BluetoothUUID(thirtyTwoBits: try reader.readUInt32())
    }
}

/// Assigned Numbers, 2.3 (Common Data Types)
struct ADType: RawRepresentable, Hashable, Sendable {
    let rawValue: UInt8

    static let flags = Self(rawValue: 0x01)
    static let incompleteServices16 = Self(rawValue: 0x02)
    static let completeServices16 = Self(rawValue: 0x03)
    static let incompleteServices32 = Self(rawValue: 0x04)
    static let completeServices32 = Self(rawValue: 0x05)
    static let incompleteServices128 = Self(rawValue: 0x06)
    static let completeServices128 = Self(rawValue: 0x07)
    static let shortenedName = Self(rawValue: 0x08)
    static let completeName = Self(rawValue: 0x09)
    static let txPowerLevel = Self(rawValue: 0x0A)
    static let solicitedServices16 = Self(rawValue: 0x14)
    static let solicitedServices128 = Self(rawValue: 0x15)
    static let serviceData16 = Self(rawValue: 0x16)
    static let appearance = Self(rawValue: 0x19)
    static let solicitedServices32 = Self(rawValue: 0x1F)
    static let serviceData32 = Self(rawValue: 0x20)
    static let serviceData128 = Self(rawValue: 0x21)
    static let manufacturerData = Self(rawValue: 0xFF)
}
