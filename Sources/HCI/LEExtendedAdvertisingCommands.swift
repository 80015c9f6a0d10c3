import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.52 (LE Set Advertising Set Random Address command)
package struct HCILESetAdvertisingSetRandomAddress: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2035)

    package var advertisingHandle: LEAdvertisingHandle
    package var address: UInt64

    package init(advertisingHandle: LEAdvertisingHandle, address: UInt64) {
        self.advertisingHandle = advertisingHandle
        self.address = address
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        advertisingHandle = LEAdvertisingHandle(rawValue: try reader.readUInt8())
        address = try reader.readUInt48()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(advertisingHandle.rawValue)
        writer.writeUInt48(address)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.53 (LE Set Extended Advertising Parameters command)
package struct HCILESetExtendedAdvertisingParameters: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2036)

    package var advertisingHandle: LEAdvertisingHandle
    package var properties: LEAdvertisingEventProperties
    /// Units of 0.625 ms.
    package var intervalMin: UInt32
    /// Units of 0.625 ms.
    package var intervalMax: UInt32
    package var channelMap: LEAdvertisingChannelMap
    package var ownAddressType: LEOwnAddressType
    /// Of directed advertising, and of a resolving list's entry.
    package var peerAddress: LEPeerAddress
    package var filterPolicy: LEAdvertisingFilterPolicy
    /// dBm; ``noTxPowerPreference`` leaves it to the controller.
    package var txPower: Int8
    package var primaryPHY: LEPHY
    package var secondaryMaxSkip: UInt8
    package var secondaryPHY: LEPHY
    /// 0–15.
    package var advertisingSID: UInt8
    package var reportsScanRequests: Bool

    package init(
        advertisingHandle: LEAdvertisingHandle, properties: LEAdvertisingEventProperties, intervalMin: UInt32,
        intervalMax: UInt32, channelMap: LEAdvertisingChannelMap, ownAddressType: LEOwnAddressType,
        peerAddress:
            LEPeerAddress, filterPolicy: LEAdvertisingFilterPolicy, txPower: Int8, primaryPHY: LEPHY,
        secondaryMaxSkip: UInt8, secondaryPHY: LEPHY, advertisingSID: UInt8, reportsScanRequests: Bool
    ) {
        self.advertisingHandle = advertisingHandle
        self.properties = properties
        self.intervalMin = intervalMin
        self.intervalMax = intervalMax
        self.channelMap = channelMap
        self.ownAddressType = ownAddressType
        self.peerAddress = peerAddress
        self.filterPolicy = filterPolicy
        self.txPower = txPower
        self.primaryPHY = primaryPHY
        self.secondaryMaxSkip = secondaryMaxSkip
        self.secondaryPHY = secondaryPHY
        self.advertisingSID = advertisingSID
        self.reportsScanRequests = reportsScanRequests
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        advertisingHandle = LEAdvertisingHandle(rawValue: try reader.readUInt8())
        properties = LEAdvertisingEventProperties(rawValue: try reader.readUInt16())
        intervalMin = try reader.readUInt24()
        intervalMax = try reader.readUInt24()
        channelMap = LEAdvertisingChannelMap(rawValue: try reader.readUInt8())
        ownAddressType = try reader.readCase("Own_Address_Type")
        peerAddress = try LEPeerAddress(decoding: &reader)
        filterPolicy = try reader.readCase("Advertising_Filter_Policy")
        txPower = try reader.readInt8()
        primaryPHY = LEPHY(rawValue: try reader.readUInt8())
        secondaryMaxSkip = try reader.readUInt8()
        secondaryPHY = LEPHY(rawValue: try reader.readUInt8())
        advertisingSID = try reader.readUInt8()
        reportsScanRequests = try reader.readBool("Scan_Request_Notification_Enable")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(advertisingHandle.rawValue)
        writer.write(properties.rawValue)
        writer.writeUInt24(intervalMin)
        writer.writeUInt24(intervalMax)
        writer.write(channelMap.rawValue)
        writer.write(ownAddressType.rawValue)
        peerAddress.encode(into: &writer)
        writer.write(filterPolicy.rawValue)
        writer.write(txPower)
        writer.write(primaryPHY.rawValue)
        writer.write(secondaryMaxSkip)
        writer.write(secondaryPHY.rawValue)
        writer.write(advertisingSID)
        writer.write(reportsScanRequests)
    }

    package struct ReturnParameters: WireCodable {
        /// dBm, as chosen.
        package var txPower: Int8

        package init(txPower: Int8) {
            self.txPower = txPower
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            txPower = try reader.readInt8()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(txPower)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.57 (LE Read Maximum Advertising Data Length command)
package struct HCILEReadMaximumAdvertisingDataLength: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x203A)

    package init() {}

    package struct ReturnParameters: WireCodable {
        /// 31–1650.
        package var octets: UInt16

        package init(octets: UInt16) {
            self.octets = octets
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            octets = try reader.readUInt16()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(octets)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.58 (LE Read Number of Supported Advertising Sets command)
package struct HCILEReadNumberOfSupportedAdvertisingSets: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x203B)

    package init() {}

    package struct ReturnParameters: WireCodable {
        /// At least 1. What is left of it may change while sets are there.
        package var count: UInt8

        package init(count: UInt8) {
            self.count = count
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            count = try reader.readUInt8()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(count)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.59 (LE Remove Advertising Set command)
package struct HCILERemoveAdvertisingSet: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x203C)

    package var advertisingHandle: LEAdvertisingHandle

    package init(advertisingHandle: LEAdvertisingHandle) {
        self.advertisingHandle = advertisingHandle
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        advertisingHandle = LEAdvertisingHandle(rawValue: try reader.readUInt8())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(advertisingHandle.rawValue)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.60 (LE Clear Advertising Sets command)
package struct HCILEClearAdvertisingSets: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x203D)

    package init() {}
}
