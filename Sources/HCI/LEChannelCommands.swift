import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.19 (LE Set Host Channel Classification command)
package struct HCILESetHostChannelClassification: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2014)

    /// At least one channel; those that are not in it are known to be bad.
    package var channelMap: LEChannelMap

    package init(channelMap: LEChannelMap) {
        self.channelMap = channelMap
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        channelMap = try LEChannelMap(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        channelMap.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.20 (LE Read Channel Map command)
package struct HCILEReadChannelMap: HCICompletingCommand, HCIOneHandle {
    package static let opcode = HCIOpcode(0x2015)

    package var handle: ConnectionHandle

    package init(handle: ConnectionHandle) { self.handle = handle }

    package struct ReturnParameters: WireCodable {
        package var handle: ConnectionHandle
        package var channelMap: LEChannelMap

        package init(handle: ConnectionHandle, channelMap: LEChannelMap) {
            self.handle = handle
            self.channelMap = channelMap
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            handle = try reader.readConnectionHandle()
            channelMap = try LEChannelMap(decoding: &reader)
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(handle)
            channelMap.encode(into: &writer)
        }
    }
}

/// Data channels, channel 0 first, in 37 bits of 40.
///
/// Core 5.4, Vol 4, Part E, 7.8.20 (LE Read Channel Map command, Channel_Map)
package struct LEChannelMap: OptionSet, Hashable, Sendable, WireCodable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue & Self.everyBit }

    package static let all = Self(rawValue: everyBit)
    private static let everyBit: UInt64 = 1 << 37 - 1

    /// How many channels are in use.
    package var count: Int { rawValue.nonzeroBitCount }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let low = UInt64(try reader.readUInt32())
        self.init(rawValue: low | UInt64(try reader.readUInt8()) << 32)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(UInt32(truncatingIfNeeded: rawValue))
        writer.write(UInt8(truncatingIfNeeded: rawValue >> 32))
    }
}
