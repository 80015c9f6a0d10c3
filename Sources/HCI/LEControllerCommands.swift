import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.1 (LE Set Event Mask command)
package struct HCILESetEventMask: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2001)

    package var eventMask: LEEventMask

    package init(eventMask: LEEventMask) {
        self.eventMask = eventMask
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        eventMask = LEEventMask(rawValue: try reader.readUInt64())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(eventMask.rawValue)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.2 (LE Read Buffer Size command)
package struct HCILEReadBufferSize: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x2002)

    package init() {}

    package struct ReturnParameters: WireCodable {
        /// 0: LE data shares the buffers that Read Buffer Size tells of.
        package var aclDataPacketLength: UInt16
        /// 0: as above.
        package var totalNumACLDataPackets: UInt8

        package init(aclDataPacketLength: UInt16, totalNumACLDataPackets: UInt8) {
            self.aclDataPacketLength = aclDataPacketLength
            self.totalNumACLDataPackets = totalNumACLDataPackets
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            aclDataPacketLength = try reader.readUInt16()
            totalNumACLDataPackets = try reader.readUInt8()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(aclDataPacketLength)
            writer.write(totalNumACLDataPackets)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.3 (LE Read Local Supported Features command)
package struct HCILEReadLocalSupportedFeatures: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x2003)

    package init() {}

    package struct ReturnParameters: WireCodable {
        package var features: LEFeatures

        package init(features: LEFeatures) {
            self.features = features
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            features = try LEFeatures(decoding: &reader)
        }

        package func encode(into writer: inout ByteWriter) {
            features.encode(into: &writer)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.4 (LE Set Random Address command)
package struct HCILESetRandomAddress: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2005)

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

/// Core 5.4, Vol 4, Part E, 7.8.1 (LE Set Event Mask command)
package struct LEEventMask: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let connectionComplete = Self(rawValue: 1 << 0)
    package static let advertisingReport = Self(rawValue: 1 << 1)
    package static let connectionUpdateComplete = Self(rawValue: 1 << 2)
    package static let readRemoteFeaturesComplete = Self(rawValue: 1 << 3)
    package static let longTermKeyRequest = Self(rawValue: 1 << 4)
    package static let remoteConnectionParameterRequest = Self(rawValue: 1 << 5)
    package static let dataLengthChange = Self(rawValue: 1 << 6)
    package static let enhancedConnectionComplete = Self(rawValue: 1 << 9)
    package static let phyUpdateComplete = Self(rawValue: 1 << 11)
    package static let extendedAdvertisingReport = Self(rawValue: 1 << 12)
    package static let scanTimeout = Self(rawValue: 1 << 16)
    package static let advertisingSetTerminated = Self(rawValue: 1 << 17)
    package static let scanRequestReceived = Self(rawValue: 1 << 18)
    package static let channelSelectionAlgorithm = Self(rawValue: 1 << 19)
}
