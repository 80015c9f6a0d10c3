import BluetoothCore

/// Core 5.4, Vol 3, Part F, 3.4.2.1 (Exchange MTU Request)
package struct ATTExchangeMTURequest: ATTParameters {
    package static let opcode = ATTOpcode.exchangeMTURequest
    package var clientRxMTU: UInt16

    package init(clientRxMTU: UInt16) {
        self.clientRxMTU = clientRxMTU
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        clientRxMTU = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(clientRxMTU)
    }
}

/// Core 5.4, Vol 3, Part F, 3.4.2.2 (Exchange MTU Response)
package struct ATTExchangeMTUResponse: ATTParameters {
    package static let opcode = ATTOpcode.exchangeMTUResponse
    package var serverRxMTU: UInt16

    package init(serverRxMTU: UInt16) {
        self.serverRxMTU = serverRxMTU
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        serverRxMTU = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(serverRxMTU)
    }
}
