import BluetoothCore

/// Core 5.4, Vol 4, Part E, 7.5.4 (Read RSSI command)
package struct HCIReadRSSI: HCICompletingCommand, HCIOneHandle {
    package static let opcode = HCIOpcode(0x1405)

    package var handle: ConnectionHandle

    package init(handle: ConnectionHandle) { self.handle = handle }

    package struct ReturnParameters: WireCodable {
        package var handle: ConnectionHandle
        /// dBm; 127 when not available.
        package var rssi: Int8

        package init(handle: ConnectionHandle, rssi: Int8) {
            self.handle = handle
            self.rssi = rssi
        }

        package init(decoding reader: inout ByteReader) throws(DecodingError) {
            handle = try reader.readConnectionHandle()
            rssi = try reader.readInt8()
        }

        package func encode(into writer: inout ByteWriter) {
            writer.write(handle)
            writer.write(rssi)
        }
    }
}
