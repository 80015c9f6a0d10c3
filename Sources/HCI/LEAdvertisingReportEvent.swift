import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.7.65.2 (LE Advertising Report event)
package struct HCILEAdvertisingReport: WireCodable {
    /// Core 5.4, Vol 4, Part E, 7.7.65.2 (LE Advertising Report event, Num_Reports)
    package static let maximumReports = 25

    package var reports: [LEAdvertisingReport]

    package init(reports: [LEAdvertisingReport]) { self.reports = reports }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let count = Int(try reader.readUInt8())
        guard 1...Self.maximumReports ~= count else { throw .invalidValue(field: "Num_Reports") }
        reports = []
        for _ in 0..<count { reports.append(try LEAdvertisingReport(decoding: &reader)) }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(UInt8(truncatingIfNeeded: reports.count))
        for report in reports { report.encode(into: &writer) }
    }
}

/// One advertisement or scan response that was heard.
///
/// Core 5.4, Vol 4, Part E, 7.7.65.2 (LE Advertising Report event)
package struct LEAdvertisingReport: WireCodable {
    package struct EventType: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package static let connectableScannableUndirected = Self(rawValue: 0x00)
        package static let connectableDirected = Self(rawValue: 0x01)
        package static let scannableUndirected = Self(rawValue: 0x02)
        package static let nonconnectableUndirected = Self(rawValue: 0x03)
        package static let scanResponse = Self(rawValue: 0x04)

        package var isConnectable: Bool { self == .connectableScannableUndirected || self == .connectableDirected }
        package var isScannable: Bool { self == .connectableScannableUndirected || self == .scannableUndirected }
    }

    package var eventType: EventType
    package var address: LEPeerAddress
    /// At most ``LegacyAdvertisingData/maximumOctets``.
    package var data: [UInt8]
    /// dBm; nil when the controller does not know.
    package var rssi: Int8?

    private static let rssiNotAvailable: Int8 = 127

    package init(eventType: EventType, address: LEPeerAddress, data: [UInt8], rssi: Int8?) {
        self.eventType = eventType
        self.address = address
        self.data = data
        self.rssi = rssi
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        eventType = EventType(rawValue: try reader.readUInt8())
        address = try LEPeerAddress(decoding: &reader)
        let length = Int(try reader.readUInt8())
        guard length <= LegacyAdvertisingData.maximumOctets else { throw .invalidValue(field: "Data_Length") }
        data = try reader.readBytes(length)
        let level = try reader.readInt8()
        rssi = level == Self.rssiNotAvailable ? nil : level
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(eventType.rawValue)
        address.encode(into: &writer)
        writer.write(UInt8(truncatingIfNeeded: data.count))
        writer.write(data)
        writer.write(rssi ?? Self.rssiNotAvailable)
    }
}
