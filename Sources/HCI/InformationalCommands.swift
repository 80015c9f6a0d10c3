import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.4.1 (Read Local Version Information command)
package struct HCIReadLocalVersionInformation: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x1001)

    package init() {}

    package struct ReturnParameters: WireCodable {
        package var hciVersion: CoreVersion
        package var hciSubversion: UInt16
        package var lmpVersion: CoreVersion
        package var companyIdentifier: UInt16
        package var lmpSubversion: UInt16

        package init(
            hciVersion: CoreVersion, hciSubversion: UInt16, lmpVersion: CoreVersion, companyIdentifier: UInt16,
            lmpSubversion: UInt16
        ) {
            self.hciVersion = hciVersion
            self.hciSubversion = hciSubversion
            self.lmpVersion = lmpVersion
            self.companyIdentifier = companyIdentifier
            self.lmpSubversion = lmpSubversion
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            hciVersion = CoreVersion(rawValue: try reader.readUInt8())
            hciSubversion = try reader.readUInt16()
            lmpVersion = CoreVersion(rawValue: try reader.readUInt8())
            companyIdentifier = try reader.readUInt16()
            lmpSubversion = try reader.readUInt16()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(hciVersion.rawValue)
            writer.write(hciSubversion)
            writer.write(lmpVersion.rawValue)
            writer.write(companyIdentifier)
            writer.write(lmpSubversion)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.4.2 (Read Local Supported Commands command)
package struct HCIReadLocalSupportedCommands: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x1002)
    package typealias ReturnParameters = SupportedCommands

    package init() {}
}

/// Core 5.4, Vol 4, Part E, 7.4.3 (Read Local Supported Features command)
package struct HCIReadLocalSupportedFeatures: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x1003)

    package init() {}

    package struct ReturnParameters: WireCodable {
        /// Page 0. Bit 37: BR/EDR not supported; bit 38: LE supported.
        package var lmpFeatures: UInt64

        package init(lmpFeatures: UInt64) {
            self.lmpFeatures = lmpFeatures
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            lmpFeatures = try reader.readUInt64()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(lmpFeatures)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.4.5 (Read Buffer Size command)
package struct HCIReadBufferSize: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x1005)

    package init() {}

    package struct ReturnParameters: WireCodable {
        package var aclDataPacketLength: UInt16
        package var synchronousDataPacketLength: UInt8
        package var totalNumACLDataPackets: UInt16
        package var totalNumSynchronousDataPackets: UInt16

        package init(
            aclDataPacketLength: UInt16, synchronousDataPacketLength: UInt8, totalNumACLDataPackets: UInt16,
            totalNumSynchronousDataPackets: UInt16
        ) {
            self.aclDataPacketLength = aclDataPacketLength
            self.synchronousDataPacketLength = synchronousDataPacketLength
            self.totalNumACLDataPackets = totalNumACLDataPackets
            self.totalNumSynchronousDataPackets = totalNumSynchronousDataPackets
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            aclDataPacketLength = try reader.readUInt16()
            synchronousDataPacketLength = try reader.readUInt8()
            totalNumACLDataPackets = try reader.readUInt16()
            totalNumSynchronousDataPackets = try reader.readUInt16()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(aclDataPacketLength)
            writer.write(synchronousDataPacketLength)
            writer.write(totalNumACLDataPackets)
            writer.write(totalNumSynchronousDataPackets)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.4.6 (Read BD_ADDR command)
package struct HCIReadBDADDR: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x1009)

    package init() {}

    package struct ReturnParameters: WireCodable {
        /// The public address; 0 where the controller has none.
        package var address: UInt64

        package init(address: UInt64) {
            self.address = address
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            address = try reader.readUInt48()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.writeUInt48(address)
        }
    }
}

/// A version of the Core Specification, as assigned numbers have it.
package struct CoreVersion: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let v4_0 = Self(rawValue: 0x06)
    package static let v4_1 = Self(rawValue: 0x07)
    package static let v4_2 = Self(rawValue: 0x08)
    package static let v5_0 = Self(rawValue: 0x09)
    package static let v5_1 = Self(rawValue: 0x0A)
    package static let v5_2 = Self(rawValue: 0x0B)
    package static let v5_3 = Self(rawValue: 0x0C)
    package static let v5_4 = Self(rawValue: 0x0D)

    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// Which commands a controller has: 64 octets of bits.
///
/// Core 5.4, Vol 4, Part E, 6.27 (Supported Commands)
package struct SupportedCommands: WireCodable {
    package static let octetCount = 64

    /// A command's place in the bits.
    package struct Position: Hashable, Sendable {
        package let octet: Int
        package let bit: Int
        package init(octet: Int, bit: Int) {
            self.octet = octet
            self.bit = bit
        }

        package static let disconnect = Self(octet: 0, bit: 5)
        package static let readRemoteVersionInformation = Self(octet: 2, bit: 7)
        package static let setEventMask = Self(octet: 5, bit: 6)
        package static let reset = Self(octet: 5, bit: 7)
        package static let readTransmitPowerLevel = Self(octet: 10, bit: 2)
        package static let readLocalVersionInformation = Self(octet: 14, bit: 3)
        package static let readLocalSupportedFeatures = Self(octet: 14, bit: 5)
        package static let readBufferSize = Self(octet: 14, bit: 7)
        package static let readBDADDR = Self(octet: 15, bit: 1)
        package static let readRSSI = Self(octet: 15, bit: 5)
        package static let leSetEventMask = Self(octet: 25, bit: 0)
        package static let leReadBufferSize = Self(octet: 25, bit: 1)
        package static let leReadLocalSupportedFeatures = Self(octet: 25, bit: 2)
        package static let leSetRandomAddress = Self(octet: 25, bit: 4)
        package static let leSetAdvertisingParameters = Self(octet: 25, bit: 5)
        package static let leReadAdvertisingPhysicalChannelTxPower = Self(octet: 25, bit: 6)
        package static let leSetAdvertisingData = Self(octet: 25, bit: 7)
        package static let leSetScanResponseData = Self(octet: 26, bit: 0)
        package static let leSetAdvertisingEnable = Self(octet: 26, bit: 1)
        package static let leSetScanParameters = Self(octet: 26, bit: 2)
        package static let leSetScanEnable = Self(octet: 26, bit: 3)
        package static let leCreateConnection = Self(octet: 26, bit: 4)
        package static let leCreateConnectionCancel = Self(octet: 26, bit: 5)
        package static let leReadFilterAcceptListSize = Self(octet: 26, bit: 6)
        package static let leClearFilterAcceptList = Self(octet: 26, bit: 7)
        package static let leAddDeviceToFilterAcceptList = Self(octet: 27, bit: 0)
        package static let leRemoveDeviceFromFilterAcceptList = Self(octet: 27, bit: 1)
        package static let leConnectionUpdate = Self(octet: 27, bit: 2)
        package static let leSetHostChannelClassification = Self(octet: 27, bit: 3)
        package static let leReadChannelMap = Self(octet: 27, bit: 4)
        package static let leReadRemoteFeatures = Self(octet: 27, bit: 5)
        package static let leEncrypt = Self(octet: 27, bit: 6)
        package static let leRand = Self(octet: 27, bit: 7)
        package static let leEnableEncryption = Self(octet: 28, bit: 0)
        package static let leLongTermKeyRequestReply = Self(octet: 28, bit: 1)
        package static let leLongTermKeyRequestNegativeReply = Self(octet: 28, bit: 2)
        package static let leRemoteConnectionParameterRequestReply = Self(octet: 33, bit: 4)
        package static let leRemoteConnectionParameterRequestNegativeReply = Self(octet: 33, bit: 5)
        package static let leSetDataLength = Self(octet: 33, bit: 6)
        package static let leReadSuggestedDefaultDataLength = Self(octet: 33, bit: 7)
        package static let leWriteSuggestedDefaultDataLength = Self(octet: 34, bit: 0)
        package static let leAddDeviceToResolvingList = Self(octet: 34, bit: 3)
        package static let leRemoveDeviceFromResolvingList = Self(octet: 34, bit: 4)
        package static let leClearResolvingList = Self(octet: 34, bit: 5)
        package static let leReadResolvingListSize = Self(octet: 34, bit: 6)
        package static let leReadPeerResolvableAddress = Self(octet: 34, bit: 7)
        package static let leReadLocalResolvableAddress = Self(octet: 35, bit: 0)
        package static let leSetAddressResolutionEnable = Self(octet: 35, bit: 1)
        package static let leSetResolvablePrivateAddressTimeout = Self(octet: 35, bit: 2)
        package static let leReadMaximumDataLength = Self(octet: 35, bit: 3)
        package static let leReadPHY = Self(octet: 35, bit: 4)
        package static let leSetDefaultPHY = Self(octet: 35, bit: 5)
        package static let leSetPHY = Self(octet: 35, bit: 6)
        package static let leSetAdvertisingSetRandomAddress = Self(octet: 36, bit: 1)
        package static let leSetExtendedAdvertisingParameters = Self(octet: 36, bit: 2)
        package static let leSetExtendedAdvertisingData = Self(octet: 36, bit: 3)
        package static let leSetExtendedScanResponseData = Self(octet: 36, bit: 4)
        package static let leSetExtendedAdvertisingEnable = Self(octet: 36, bit: 5)
        package static let leReadMaximumAdvertisingDataLength = Self(octet: 36, bit: 6)
        package static let leReadNumberOfSupportedAdvertisingSets = Self(octet: 36, bit: 7)
        package static let leRemoveAdvertisingSet = Self(octet: 37, bit: 0)
        package static let leClearAdvertisingSets = Self(octet: 37, bit: 1)
        package static let leSetExtendedScanParameters = Self(octet: 37, bit: 5)
        package static let leSetExtendedScanEnable = Self(octet: 37, bit: 6)
        package static let leExtendedCreateConnection = Self(octet: 37, bit: 7)
        package static let leReadTransmitPower = Self(octet: 38, bit: 7)
        package static let leSetPrivacyMode = Self(octet: 39, bit: 2)
    }

    private var octets: [UInt8]

    /// The controller that has exactly these commands.
    package init(_ commands: Set<Position>) {
        octets = Array(repeating: 0, count: Self.octetCount)
        for command in commands where octets.indices.contains(command.octet) {
            octets[command.octet] |= 1 << command.bit
        }
    }

    package func contains(_ command: Position) -> Bool {
        octets.indices.contains(command.octet) && octets[command.octet] & 1 << command.bit != 0
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        octets = try reader.readBytes(Self.octetCount)
    }

    package func encode(into writer: inout ByteWriter) { writer.write(octets) }
}
