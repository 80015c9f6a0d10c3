import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.47 (LE Read PHY command)
package struct HCILEReadPHY: HCICompletingCommand, HCIOneHandle {
    package static let opcode = HCIOpcode(0x2030)

    package var handle: ConnectionHandle

    package init(handle: ConnectionHandle) { self.handle = handle }

    package struct ReturnParameters: WireCodable {
        package var handle: ConnectionHandle
        package var txPHY: LEPHY
        package var rxPHY: LEPHY

        package init(handle: ConnectionHandle, txPHY: LEPHY, rxPHY: LEPHY) {
            self.handle = handle
            self.txPHY = txPHY
            self.rxPHY = rxPHY
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            handle = try reader.readConnectionHandle()
            txPHY = LEPHY(rawValue: try reader.readUInt8())
            rxPHY = LEPHY(rawValue: try reader.readUInt8())
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(handle)
            writer.write(txPHY.rawValue)
            writer.write(rxPHY.rawValue)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.48 (LE Set Default PHY command)
package struct HCILESetDefaultPHY: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2031)

    package var indifference: LEPHYIndifference
    package var tx: LEPHYSet
    package var rx: LEPHYSet

    package init(indifference: LEPHYIndifference, tx: LEPHYSet, rx: LEPHYSet) {
        self.indifference = indifference
        self.tx = tx
        self.rx = rx
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        indifference = LEPHYIndifference(rawValue: try reader.readUInt8())
        tx = LEPHYSet(rawValue: try reader.readUInt8())
        rx = LEPHYSet(rawValue: try reader.readUInt8())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(indifference.rawValue)
        writer.write(tx.rawValue)
        writer.write(rx.rawValue)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.49 (LE Set PHY command)
package struct HCILESetPHY: HCICommand {
    package static let opcode = HCIOpcode(0x2032)

    package var handle: ConnectionHandle
    package var indifference: LEPHYIndifference
    package var tx: LEPHYSet
    package var rx: LEPHYSet
    /// Which coding is preferred on the LE Coded PHY; 0 leaves it to the controller.
    package var options: UInt16

    package init(
        handle: ConnectionHandle, indifference: LEPHYIndifference, tx: LEPHYSet, rx: LEPHYSet, options: UInt16
    ) {
        self.handle = handle
        self.indifference = indifference
        self.tx = tx
        self.rx = rx
        self.options = options
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
        indifference = LEPHYIndifference(rawValue: try reader.readUInt8())
        tx = LEPHYSet(rawValue: try reader.readUInt8())
        rx = LEPHYSet(rawValue: try reader.readUInt8())
        options = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        writer.write(indifference.rawValue)
        writer.write(tx.rawValue)
        writer.write(rx.rawValue)
        writer.write(options)
    }
}

/// A PHY in use. Open, because later versions add some.
///
/// Core 5.4, Vol 4, Part E, 7.7.65.12 (LE PHY Update Complete event, TX_PHY)
package struct LEPHY: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Of a report: no packets on the secondary channel.
    package static let none = Self(rawValue: 0x00)
    package static let le1M = Self(rawValue: 0x01)
    package static let le2M = Self(rawValue: 0x02)
    package static let leCoded = Self(rawValue: 0x03)
}

/// PHYs that are preferred.
///
/// Core 5.4, Vol 4, Part E, 7.8.48 (LE Set Default PHY command, TX_PHYS)
package struct LEPHYSet: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let le1M = Self(rawValue: 1 << 0)
    package static let le2M = Self(rawValue: 1 << 1)
    package static let leCoded = Self(rawValue: 1 << 2)
}

/// Directions in which the host prefers no PHY, whatever their sets say.
///
/// Core 5.4, Vol 4, Part E, 7.8.48 (LE Set Default PHY command, ALL_PHYS)
package struct LEPHYIndifference: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let tx = Self(rawValue: 1 << 0)
    package static let rx = Self(rawValue: 1 << 1)
}
