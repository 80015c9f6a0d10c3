import BluetoothCore

/// Core 5.4, Vol 3, Part F, 3.4.6.1 (Prepare Write Request)
package struct ATTPrepareWriteRequest: ATTParameters {
    package static let opcode = ATTOpcode.prepareWriteRequest
    package var handle: AttributeHandle
    package var offset: UInt16
    package var value: [UInt8]

    package init(handle: AttributeHandle, offset: UInt16, value: [UInt8]) {
        self.handle = handle
        self.offset = offset
        self.value = value
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = AttributeHandle(try reader.readUInt16())
        offset = try reader.readUInt16()
        value = reader.readRemaining()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle.rawValue)
        writer.write(offset)
        writer.write(value)
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.6.2 (Prepare Write Response)
package struct ATTPrepareWriteResponse: ATTParameters {
    package static let opcode = ATTOpcode.prepareWriteResponse
    package var handle: AttributeHandle
    package var offset: UInt16
    package var value: [UInt8]

    package init(handle: AttributeHandle, offset: UInt16, value: [UInt8]) {
        self.handle = handle
        self.offset = offset
        self.value = value
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = AttributeHandle(try reader.readUInt16())
        offset = try reader.readUInt16()
        value = reader.readRemaining()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle.rawValue)
        writer.write(offset)
        writer.write(value)
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.6.3 (Execute Write Request)
package struct ATTExecuteWriteRequest: ATTParameters {
    package static let opcode = ATTOpcode.executeWriteRequest
    /// Write what was prepared, or forget it.
    package enum Flags: UInt8, Sendable { case cancel = 0, write = 1 }
    package var flags: Flags

    package init(flags: Flags) { self.flags = flags }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        guard let flags = Flags(rawValue: try reader.readUInt8()) else { throw .invalidValue(field: "flags") }
        self.flags = flags
    }

    package func encode(into writer: inout ByteWriter) { writer.write(flags.rawValue) }
}

/// Core 5.4, Vol 3, Part F, 3.4.6.4 (Execute Write Response)
package struct ATTExecuteWriteResponse: ATTParameters {
    package static let opcode = ATTOpcode.executeWriteResponse

    package init() {}

    package init(decoding reader: inout ByteReader) throws(DecodingError) {}

    package func encode(into writer: inout ByteWriter) {}
}
