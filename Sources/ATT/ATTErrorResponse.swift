import BluetoothCore

/// Core 5.4, Vol 3, Part F, 3.4.1.1 (Error Response)
package struct ATTErrorResponse: ATTParameters {
    package static let opcode = ATTOpcode.errorResponse
    package var requestOpcode: ATTOpcode
    package var handle: AttributeHandle
    package var code: ATTErrorCode

    package init(requestOpcode: ATTOpcode, handle: AttributeHandle, code: ATTErrorCode) {
        self.requestOpcode = requestOpcode
        self.handle = handle
        self.code = code
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        requestOpcode = ATTOpcode(rawValue: try reader.readUInt8())
        handle = AttributeHandle(try reader.readUInt16())
        code = ATTErrorCode(rawValue: try reader.readUInt8())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(requestOpcode.rawValue)
        writer.write(handle.rawValue)
        writer.write(code.rawValue)
    }
}
