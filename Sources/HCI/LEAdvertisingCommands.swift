import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.5 (LE Set Advertising Parameters command)
package struct HCILESetAdvertisingParameters: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2006)

    /// Units of 0.625 ms.
    package var intervalMin: UInt16
    /// Units of 0.625 ms.
    package var intervalMax: UInt16
    package var advertisingType: LEAdvertisingType
    package var ownAddressType: LEOwnAddressType
    package var peerAddress: LEPeerAddress
    package var channelMap: LEAdvertisingChannelMap
    package var filterPolicy: LEAdvertisingFilterPolicy

    package init(
        intervalMin: UInt16, intervalMax: UInt16, advertisingType: LEAdvertisingType, ownAddressType: LEOwnAddressType,
        peerAddress: LEPeerAddress, channelMap: LEAdvertisingChannelMap, filterPolicy: LEAdvertisingFilterPolicy
    ) {
        self.intervalMin = intervalMin
        self.intervalMax = intervalMax
        self.advertisingType = advertisingType
        self.ownAddressType = ownAddressType
        self.peerAddress = peerAddress
        self.channelMap = channelMap
        self.filterPolicy = filterPolicy
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        intervalMin = try reader.readUInt16()
        intervalMax = try reader.readUInt16()
        advertisingType = try reader.readCase("Advertising_Type")
        ownAddressType = try reader.readCase("Own_Address_Type")
        peerAddress = try LEPeerAddress(decoding: &reader)
        channelMap = LEAdvertisingChannelMap(rawValue: try reader.readUInt8())
        filterPolicy = try reader.readCase("Advertising_Filter_Policy")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(intervalMin)
        writer.write(intervalMax)
        writer.write(advertisingType.rawValue)
        writer.write(ownAddressType.rawValue)
        peerAddress.encode(into: &writer)
        writer.write(channelMap.rawValue)
        writer.write(filterPolicy.rawValue)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.6 (LE Read Advertising Physical Channel Tx Power command)
package struct HCILEReadAdvertisingPhysicalChannelTxPower: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x2007)

    package init() {}

    package struct ReturnParameters: WireCodable {
        /// dBm.
        package var txPowerLevel: Int8

        package init(txPowerLevel: Int8) {
            self.txPowerLevel = txPowerLevel
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            txPowerLevel = try reader.readInt8()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(txPowerLevel)
        }
    }
}

/// Up to 31 octets that the controller carries in a field of 32 with its length: advertising data, scan response data.
package struct LegacyAdvertisingData: WireCodable, Hashable {
    package static let maximumOctets = 31

    package let octets: [UInt8]

    /// nil for more than ``maximumOctets``.
    package init?(_ octets: [UInt8]) {
        guard octets.count <= Self.maximumOctets else { return nil }
        self.octets = octets
    }

    /// Drops what is beyond ``maximumOctets``.
    package init(truncating octets: [UInt8]) { self.octets = Array(octets.prefix(Self.maximumOctets)) }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let length = Int(try reader.readUInt8())
        guard length <= Self.maximumOctets else { throw .invalidValue(field: "Advertising_Data_Length") }
        octets = try reader.readBytes(length)
        try reader.skip(Self.maximumOctets - length)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(UInt8(truncatingIfNeeded: octets.count))
        writer.write(octets)
        for _ in octets.count..<Self.maximumOctets { writer.write(UInt8(0)) }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.7 (LE Set Advertising Data command)
package struct HCILESetAdvertisingData: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2008)

    package var data: LegacyAdvertisingData

    package init(data: LegacyAdvertisingData) { self.data = data }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        data = try LegacyAdvertisingData(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) { data.encode(into: &writer) }
}

/// Core 5.4, Vol 4, Part E, 7.8.8 (LE Set Scan Response Data command)
package struct HCILESetScanResponseData: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2009)

    package var data: LegacyAdvertisingData

    package init(data: LegacyAdvertisingData) { self.data = data }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        data = try LegacyAdvertisingData(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) { data.encode(into: &writer) }
}

/// Core 5.4, Vol 4, Part E, 7.8.9 (LE Set Advertising Enable command)
package struct HCILESetAdvertisingEnable: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x200A)

    package var enable: Bool

    package init(enable: Bool) {
        self.enable = enable
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        enable = try reader.readBool("enable")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(enable)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.5 (LE Set Advertising Parameters, Advertising_Type)
package enum LEAdvertisingType: UInt8, Sendable, CaseIterable {
    case connectableScannableUndirected = 0x00
    case connectableDirectedHighDutyCycle = 0x01
    case scannableUndirected = 0x02
    case nonconnectableUndirected = 0x03
    case connectableDirectedLowDutyCycle = 0x04
}

/// Core 5.4, Vol 4, Part E, 7.8.5 (LE Set Advertising Parameters, Advertising_Filter_Policy)
package enum LEAdvertisingFilterPolicy: UInt8, Sendable, CaseIterable {
    case all = 0x00
    case scansFromFilterAcceptList = 0x01
    case connectionsFromFilterAcceptList = 0x02
    case bothFromFilterAcceptList = 0x03
}

/// Core 5.4, Vol 4, Part E, 7.8.5 (LE Set Advertising Parameters, Advertising_Channel_Map)
package struct LEAdvertisingChannelMap: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let channel37 = Self(rawValue: 1 << 0)
    package static let channel38 = Self(rawValue: 1 << 1)
    package static let channel39 = Self(rawValue: 1 << 2)
    package static let all: Self = [.channel37, .channel38, .channel39]
}
