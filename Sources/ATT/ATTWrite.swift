import BluetoothCore

/// Core 5.4, Vol 3, Part F, 3.4.5.1 (Write Request)
package struct ATTWriteRequest: ATTParameters {
    package static let opcode = ATTOpcode.writeRequest
    package var handle: AttributeHandle
    package var value: [UInt8]

    package init(handle: AttributeHandle, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        (handle, value) = try reader.readHandleAndValue()
    }

    package func encode(into writer: inout ByteWriter) { writer.write(handle, value) }
}

/// Core 5.4, Vol 3, Part F, 3.4.5.2 (Write Response)
package struct ATTWriteResponse: ATTParameters {
    package static let opcode = ATTOpcode.writeResponse

    package init() {}

    package init(decoding reader: inout ByteReader) throws(DecodingError) {}

    package func encode(into writer: inout ByteWriter) {}
}

/// Core 5.4, Vol 3, Part F, 3.4.5.3 (Write Command)
package struct ATTWriteCommand: ATTParameters {
    package static let opcode = ATTOpcode.writeCommand
    package var handle: AttributeHandle
    package var value: [UInt8]

    package init(handle: AttributeHandle, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        (handle, value) = try reader.readHandleAndValue()
    }

    package func encode(into writer: inout ByteWriter) { writer.write(handle, value) }
}
