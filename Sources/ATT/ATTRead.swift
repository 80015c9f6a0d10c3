import BluetoothCore

/// Core 5.4, Vol 3, Part F, 3.4.4.3 (Read Request)
package struct ATTReadRequest: ATTParameters {
    package static let opcode = ATTOpcode.readRequest
    package var handle: AttributeHandle

    package init(handle: AttributeHandle) {
        self.handle = handle
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = AttributeHandle(try reader.readUInt16())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle.rawValue)
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.4.4 (Read Response)
package struct ATTReadResponse: ATTParameters {
    package static let opcode = ATTOpcode.readResponse
    package var value: [UInt8]

    package init(value: [UInt8]) {
        self.value = value
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        value = reader.readRemaining()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(value)
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.4.5 (Read Blob Request)
package struct ATTReadBlobRequest: ATTParameters {
    package static let opcode = ATTOpcode.readBlobRequest
    package var handle: AttributeHandle
    package var offset: UInt16

    package init(handle: AttributeHandle, offset: UInt16) {
        self.handle = handle
        self.offset = offset
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = AttributeHandle(try reader.readUInt16())
        offset = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle.rawValue)
        writer.write(offset)
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.4.6 (Read Blob Response)
package struct ATTReadBlobResponse: ATTParameters {
    package static let opcode = ATTOpcode.readBlobResponse
    package var value: [UInt8]

    package init(value: [UInt8]) {
        self.value = value
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        value = reader.readRemaining()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(value)
    }
}
