import BluetoothCore

/// Advertising data as AD structures, written into the room that there is and read from whatever a stranger sends.
///
/// Core 5.4, Vol 3, Part C, 11 (Advertising and scan response data format); Core Specification Supplement, Part A
package struct AdvertisingData: Equatable, Sendable {
    /// Of a legacy PDU.
    package static let maximumOctets = 31

    /// Core Specification Supplement, Part A, 1.3 (Flags)
    package var flags: UInt8?
    package var services: [BluetoothUUID] = []
    package var localName: String?
    package var isNameShortened = false
    package var manufacturerData: [UInt8]?

    package init() {}

    /// General discoverable, BR/EDR not supported.
    package static let generalDiscoverableFlags: UInt8 = 0x06

    private enum ADType {
        static let flags: UInt8 = 0x01
        static let incompleteServices16: UInt8 = 0x02
        static let completeServices16: UInt8 = 0x03
        static let incompleteServices128: UInt8 = 0x06
        static let completeServices128: UInt8 = 0x07
        static let shortenedName: UInt8 = 0x08
        static let completeName: UInt8 = 0x09
        static let manufacturerData: UInt8 = 0xFF
    }

    /// Reads every structure that is whole and skips what it does not know; what is malformed ends the reading, since
    /// nothing behind it can be trusted to start where it seems to.
    package init(parsing octets: [UInt8]) {
        var reader = ByteReader(octets.span.bytes)
        while let length = try? reader.readUInt8(), length > 0,
            let type = try? reader.readUInt8(), let value = try? reader.readBytes(Int(length) - 1)
        {
            take(type, value)
        }
    }

    private mutating func take(_ type: UInt8, _ value: [UInt8]) {
        switch type {
        case ADType.flags: flags = value.first
        case ADType.incompleteServices16, ADType.completeServices16: takeServices(value, octetsEach: 2)
        case ADType.incompleteServices128, ADType.completeServices128: takeServices(value, octetsEach: 16)
        case ADType.shortenedName, ADType.completeName:
            localName = String(decoding: value, as: UTF8.self)
            isNameShortened = type == ADType.shortenedName
        case ADType.manufacturerData: manufacturerData = value
        default: break
        }
    }

    private mutating func takeServices(_ value: [UInt8], octetsEach: Int) {
        var reader = ByteReader(value.span.bytes)
        while let uuid = try? BluetoothUUID(decoding: &reader, length: octetsEach) { services.append(uuid) }
    }

    /// What is advertised for `record` in PDUs that every scanner understands: flags and services in the advertising data,
    /// the name in the scan response, shortened at a character where it does not fit. Services that find no room are left
    /// out and the list says that it is incomplete.
    package static func payload(for record: AdvertisingRecord) -> Advertiser.Payload {
        let services = services(of: record, room: maximumOctets)
        let name = name(of: record, room: maximumOctets)
        return Advertiser.Payload(pdus: .legacy, data: services.octets, scanResponse: name.octets)
    }

    /// All of it in one extended advertisement of at most `room` octets, when it does not fit into the legacy ones.
    package static func extendedPayload(for record: AdvertisingRecord, room: Int) -> Advertiser.Payload? {
        let fits = services(of: record, room: maximumOctets).isWhole && name(of: record, room: maximumOctets).isWhole
        guard room > maximumOctets, !fits else { return nil }
        let services = services(of: record, room: room)
        let name = name(of: record, room: room - services.octets.count)
        return Advertiser.Payload(pdus: .extended, data: services.octets + name.octets)
    }

    private typealias Part = (octets: [UInt8], isWhole: Bool)

    private static func services(of record: AdvertisingRecord, room: Int) -> Part {
        var part: Part = ([2, ADType.flags, generalDiscoverableFlags], true)
        appendServices(
            record.services.filter { $0.short != nil }, octetsEach: 2, incomplete: ADType.incompleteServices16,
            complete: ADType.completeServices16, room: room, to: &part)
        appendServices(
            record.services.filter { $0.short == nil }, octetsEach: 16, incomplete: ADType.incompleteServices128,
            complete: ADType.completeServices128, room: room, to: &part)
        return part
    }

    private static func name(of record: AdvertisingRecord, room: Int) -> Part {
        guard let name = record.localName, !name.isEmpty else { return ([], true) }
        let room = min(room - 2, structureMaximumOctets)
        let isWhole = name.utf8.count <= room
        let kept = isWhole ? Array(name.utf8) : prefix(of: name, octets: room)
        guard !kept.isEmpty else { return ([], false) }
        return ([UInt8(kept.count + 1), isWhole ? ADType.completeName : ADType.shortenedName] + kept, isWhole)
    }

    /// What one structure carries behind its length and its type.
    private static let structureMaximumOctets = 254

    private static func appendServices(
        _ services: [BluetoothUUID], octetsEach: Int, incomplete: UInt8, complete: UInt8, room: Int, to part: inout Part
    ) {
        let room = min(max(0, room - part.octets.count - 2), structureMaximumOctets) / octetsEach
        let kept = services.prefix(room)
        if kept.count < services.count { part.isWhole = false }
        guard !kept.isEmpty else { return }
        var writer = ByteWriter(capacity: maximumOctets)
        for service in kept { service.encode(into: &writer) }
        part.octets.append(UInt8(writer.bytes.count + 1))
        part.octets.append(kept.count == services.count ? complete : incomplete)
        part.octets.append(contentsOf: writer.bytes)
    }

    private static func prefix(of name: String, octets: Int) -> [UInt8] {
        var kept: [UInt8] = []
        for character in name {
            let encoded = Array(String(character).utf8)
            if kept.count + encoded.count > octets { break }
            kept += encoded
        }
        return kept
    }
}
