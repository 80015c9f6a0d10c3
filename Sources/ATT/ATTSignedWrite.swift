import BluetoothCore

/// Core 5.4, Vol 3, Part F, 3.4.5.4 (Signed Write Command)
///
/// Signature and counter cover the PDU's own octets, so whoever verifies them keeps the PDU beside this.
package struct ATTSignedWriteCommand: ATTParameters {
    package static let opcode = ATTOpcode.signedWriteCommand
    /// SignCounter (4) and MAC (8).
    package static let authenticationSignatureOctets = 12

    package var handle: AttributeHandle
    package var value: [UInt8]
    package var authenticationSignature: [UInt8]

    package init(handle: AttributeHandle, value: [UInt8], authenticationSignature: [UInt8]) {
        self.handle = handle
        self.value = value
        self.authenticationSignature = authenticationSignature
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        handle = AttributeHandle(try reader.readUInt16())
        value = try reader.readBytes(reader.remaining - Self.authenticationSignatureOctets)
        authenticationSignature = reader.readRemaining()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(handle.rawValue)
        writer.write(value)
        writer.write(authenticationSignature)
    }
}
