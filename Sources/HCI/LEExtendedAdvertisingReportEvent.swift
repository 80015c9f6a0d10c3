import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.7.65.13 (LE Extended Advertising Report event)
package struct HCILEExtendedAdvertisingReport: WireCodable {
    /// Core 5.4, Vol 4, Part E, 7.7.65.13 (LE Extended Advertising Report event, Num_Reports)
    package static let maximumReports = 10

    package var reports: [LEExtendedAdvertisingReport]

    package init(reports: [LEExtendedAdvertisingReport]) { self.reports = reports }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let count = Int(try reader.readUInt8())
        guard 1...Self.maximumReports ~= count else { throw .invalidValue(field: "Num_Reports") }
        reports = []
        for _ in 0..<count { reports.append(try LEExtendedAdvertisingReport(decoding: &reader)) }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(UInt8(truncatingIfNeeded: reports.count))
        for report in reports { report.encode(into: &writer) }
    }
}

/// One advertisement or scan response that was heard, or a piece of one.
///
/// Core 5.4, Vol 4, Part E, 7.7.65.13 (LE Extended Advertising Report event)
package struct LEExtendedAdvertisingReport: WireCodable {
    /// Core 5.4, Vol 4, Part E, 7.7.65.13 (LE Extended Advertising Report event, Event_Type)
    package struct EventType: OptionSet, Hashable, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }
        package static let connectable = Self(rawValue: 1 << 0)
        package static let scannable = Self(rawValue: 1 << 1)
        package static let directed = Self(rawValue: 1 << 2)
        package static let scanResponse = Self(rawValue: 1 << 3)
        package static let legacyPDU = Self(rawValue: 1 << 4)
        /// More data of the same advertisement comes.
        package static let moreToCome = Self(rawValue: 1 << 5)
        /// What is missing will not come.
        package static let truncated = Self(rawValue: 1 << 6)
    }

    package var eventType: EventType
    /// Of a kind that is no address's when the advertisement is anonymous.
    package var address: LEPeerAddress
    package var primaryPHY: LEPHY
    /// ``LEPHY/none`` when nothing came on the secondary channel.
    package var secondaryPHY: LEPHY
    /// nil when the advertisement has none.
    package var advertisingSID: UInt8?
    /// dBm; nil when the advertisement does not tell.
    package var txPower: Int8?
    /// dBm; nil when the controller does not know.
    package var rssi: Int8?
    /// Units of 1.25 ms; 0: no periodic advertising.
    package var periodicAdvertisingInterval: UInt16
    /// Whom a directed advertisement is for.
    package var directAddress: LEPeerAddress
    /// At most ``maximumFragmentOctets``.
    package var data: [UInt8]

    /// Core 5.4, Vol 4, Part E, 7.7.65.13 (LE Extended Advertising Report event, Data_Length)
    package static let maximumFragmentOctets = 229
    private static let noSID: UInt8 = 0xFF
    private static let powerNotAvailable: Int8 = 127

    package init(
        eventType: EventType, address: LEPeerAddress, primaryPHY: LEPHY = .le1M, secondaryPHY: LEPHY = .none,
        advertisingSID: UInt8? = nil, txPower: Int8? = nil, rssi: Int8?, periodicAdvertisingInterval: UInt16 = 0,
        directAddress: LEPeerAddress = LEPeerAddress(kind: .public, bits: 0), data: [UInt8]
    ) {
        self.eventType = eventType
        self.address = address
        self.primaryPHY = primaryPHY
        self.secondaryPHY = secondaryPHY
        self.advertisingSID = advertisingSID
        self.txPower = txPower
        self.rssi = rssi
        self.periodicAdvertisingInterval = periodicAdvertisingInterval
        self.directAddress = directAddress
        self.data = data
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        eventType = EventType(rawValue: try reader.readUInt16())
        address = try LEPeerAddress(decoding: &reader)
        primaryPHY = LEPHY(rawValue: try reader.readUInt8())
        secondaryPHY = LEPHY(rawValue: try reader.readUInt8())
        let sid = try reader.readUInt8()
        advertisingSID = sid == Self.noSID ? nil : sid
        let power = try reader.readInt8()
        txPower = power == Self.powerNotAvailable ? nil : power
        let level = try reader.readInt8()
        rssi = level == Self.powerNotAvailable ? nil : level
        periodicAdvertisingInterval = try reader.readUInt16()
        directAddress = try LEPeerAddress(decoding: &reader)
        let length = Int(try reader.readUInt8())
        guard length <= Self.maximumFragmentOctets else { throw .invalidValue(field: "Data_Length") }
        data = try reader.readBytes(length)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(eventType.rawValue)
        address.encode(into: &writer)
        writer.write(primaryPHY.rawValue)
        writer.write(secondaryPHY.rawValue)
        writer.write(advertisingSID ?? Self.noSID)
        writer.write(txPower ?? Self.powerNotAvailable)
        writer.write(rssi ?? Self.powerNotAvailable)
        writer.write(periodicAdvertisingInterval)
        directAddress.encode(into: &writer)
        writer.write(UInt8(truncatingIfNeeded: data.count))
        writer.write(data)
    }
}
