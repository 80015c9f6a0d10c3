import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.14 (LE Read Filter Accept List Size command)
package struct HCILEReadFilterAcceptListSize: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x200F)

    package init() {}

    package init(decoding reader: inout ByteReader) throws(DecodingError) {}
    package func encode(into writer: inout ByteWriter) {}

    package struct ReturnParameters: WireCodable {
        package var size: UInt8

        package init(size: UInt8) {
            self.size = size
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            size = try reader.readUInt8()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(size)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.15 (LE Clear Filter Accept List command)
package struct HCILEClearFilterAcceptList: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2010)

    package init() {}

    package init(decoding reader: inout ByteReader) throws(DecodingError) {}
    package func encode(into writer: inout ByteWriter) {}
}

/// Core 5.4, Vol 4, Part E, 7.8.16 (LE Add Device To Filter Accept List command)
package struct HCILEAddDeviceToFilterAcceptList: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2011)

    package var address: LEPeerAddress

    package init(address: LEPeerAddress) {
        self.address = address
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        address = try LEPeerAddress(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        address.encode(into: &writer)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.17 (LE Remove Device From Filter Accept List command)
package struct HCILERemoveDeviceFromFilterAcceptList: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2012)

    package var address: LEPeerAddress

    package init(address: LEPeerAddress) {
        self.address = address
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        address = try LEPeerAddress(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        address.encode(into: &writer)
    }
}
