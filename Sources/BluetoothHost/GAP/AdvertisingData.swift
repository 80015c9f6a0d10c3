import BluetoothCore

/// Advertising data as AD structures, written into 31 octets and read from whatever a stranger sends.
///
/// Core 5.4, Vol 3, Part C, 11 (Advertising and scan response data format); Core Specification Supplement, Part A
package struct AdvertisingData: Equatable, Sendable {
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

    /// What is advertised for `record`: flags and services in the advertising data, the name in the scan response,
    /// shortened at a character where it does not fit. Services that find no room are left out and the list says that it
    /// is incomplete.
    package static func payload(for record: AdvertisingRecord) -> Advertiser.Payload {
        var data: [UInt8] = [2, ADType.flags, generalDiscoverableFlags]
        appendServices(
            record.services.filter { $0.short != nil }, octetsEach: 2, incomplete: ADType.incompleteServices16,
            complete: ADType.completeServices16, to: &data)
        appendServices(
            record.services.filter { $0.short == nil }, octetsEach: 16, incomplete: ADType.incompleteServices128,
            complete: ADType.completeServices128, to: &data)
        var response: [UInt8] = []
        if let name = record.localName, !name.isEmpty {
            let room = maximumOctets - 2
            let isShortened = name.utf8.count > room
            let kept = isShortened ? prefix(of: name, octets: room) : Array(name.utf8)
            response = [UInt8(kept.count + 1), isShortened ? ADType.shortenedName : ADType.completeName] + kept
        }
        return Advertiser.Payload(data: data, scanResponse: response)
    }

    private static func appendServices(
        _ services: [BluetoothUUID], octetsEach: Int, incomplete: UInt8, complete: UInt8, to data: inout [UInt8]
    ) {
        let room = max(0, maximumOctets - data.count - 2) / octetsEach
        let kept = services.prefix(room)
        guard !kept.isEmpty else { return }
        var writer = ByteWriter(capacity: maximumOctets)
        for service in kept { service.encode(into: &writer) }
        data.append(UInt8(writer.bytes.count + 1))
        data.append(kept.count == services.count ? complete : incomplete)
        data.append(contentsOf: writer.bytes)
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
