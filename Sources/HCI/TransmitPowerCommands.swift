import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.3.35 (Read Transmit Power Level command)
package struct HCIReadTransmitPowerLevel: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x0C2D)

    package var handle: ConnectionHandle
    package var kind: TransmitPowerKind

    package init(handle: ConnectionHandle, kind: TransmitPowerKind) {
        self.handle = handle
        self.kind = kind
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
        kind = try reader.readCase("Type")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        writer.write(kind.rawValue)
    }

    package struct ReturnParameters: WireCodable {
        package var handle: ConnectionHandle
        /// dBm, -30–20.
        package var transmitPowerLevel: Int8

        package init(handle: ConnectionHandle, transmitPowerLevel: Int8) {
            self.handle = handle
            self.transmitPowerLevel = transmitPowerLevel
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            handle = try reader.readConnectionHandle()
            transmitPowerLevel = try reader.readInt8()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(handle)
            writer.write(transmitPowerLevel)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.74 (LE Read Transmit Power command)
package struct HCILEReadTransmitPower: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x204B)

    package init() {}

    package struct ReturnParameters: WireCodable {
        /// dBm.
        package var minimum: Int8
        /// dBm.
        package var maximum: Int8

        package init(minimum: Int8, maximum: Int8) {
            self.minimum = minimum
            self.maximum = maximum
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            minimum = try reader.readInt8()
            maximum = try reader.readInt8()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(minimum)
            writer.write(maximum)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.3.35 (Read Transmit Power Level command, Type)
package enum TransmitPowerKind: UInt8, Sendable, CaseIterable {
    case current = 0x00
    case maximum = 0x01
}
