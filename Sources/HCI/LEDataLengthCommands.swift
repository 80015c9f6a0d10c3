import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.8.33 (LE Set Data Length command)
package struct HCILESetDataLength: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2022)
    package typealias ReturnParameters = HCIConnectionHandleReturn

    package var handle: ConnectionHandle
    /// 27–251.
    package var txOctets: UInt16
    /// Microseconds, 328–17040.
    package var txTime: UInt16

    package init(handle: ConnectionHandle, txOctets: UInt16, txTime: UInt16) {
        self.handle = handle
        self.txOctets = txOctets
        self.txTime = txTime
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = try reader.readConnectionHandle()
        txOctets = try reader.readUInt16()
        txTime = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle)
        writer.write(txOctets)
        writer.write(txTime)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.34 (LE Read Suggested Default Data Length command)
package struct HCILEReadSuggestedDefaultDataLength: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x2023)

    package init() {}

    package struct ReturnParameters: WireCodable {
        package var maxTxOctets: UInt16
        /// Microseconds.
        package var maxTxTime: UInt16

        package init(maxTxOctets: UInt16, maxTxTime: UInt16) {
            self.maxTxOctets = maxTxOctets
            self.maxTxTime = maxTxTime
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            maxTxOctets = try reader.readUInt16()
            maxTxTime = try reader.readUInt16()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(maxTxOctets)
            writer.write(maxTxTime)
        }
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.35 (LE Write Suggested Default Data Length command)
package struct HCILEWriteSuggestedDefaultDataLength: HCICompletingCommand {
    package static let opcode = HCIOpcode(0x2024)

    package var maxTxOctets: UInt16
    /// Microseconds.
    package var maxTxTime: UInt16

    package init(maxTxOctets: UInt16, maxTxTime: UInt16) {
        self.maxTxOctets = maxTxOctets
        self.maxTxTime = maxTxTime
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        maxTxOctets = try reader.readUInt16()
        maxTxTime = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(maxTxOctets)
        writer.write(maxTxTime)
    }
}

/// Core 5.4, Vol 4, Part E, 7.8.46 (LE Read Maximum Data Length command)
package struct HCILEReadMaximumDataLength: HCIParameterlessCommand {
    package static let opcode = HCIOpcode(0x202F)

    package init() {}

    package struct ReturnParameters: WireCodable {
        package var maxTxOctets: UInt16
        /// Microseconds.
        package var maxTxTime: UInt16
        package var maxRxOctets: UInt16
        /// Microseconds.
        package var maxRxTime: UInt16

        package init(maxTxOctets: UInt16, maxTxTime: UInt16, maxRxOctets: UInt16, maxRxTime: UInt16) {
            self.maxTxOctets = maxTxOctets
            self.maxTxTime = maxTxTime
            self.maxRxOctets = maxRxOctets
            self.maxRxTime = maxRxTime
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            maxTxOctets = try reader.readUInt16()
            maxTxTime = try reader.readUInt16()
            maxRxOctets = try reader.readUInt16()
            maxRxTime = try reader.readUInt16()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(maxTxOctets)
            writer.write(maxTxTime)
            writer.write(maxRxOctets)
            writer.write(maxRxTime)
        }
    }
}
