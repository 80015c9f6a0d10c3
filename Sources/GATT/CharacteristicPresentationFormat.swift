import BluetoothCore

/// Core 5.4, Vol 3, Part G, 3.3.3.5 (Characteristic Presentation Format)
package struct CharacteristicPresentationFormat: Hashable, WireCodable {
    package var format: UInt8
    package var exponent: Int8
    package var unit: UInt16
    package var namespace: UInt8
    package var description: UInt16

    package init(format: UInt8, exponent: Int8 = 0, unit: UInt16, namespace: UInt8 = 1, description: UInt16 = 0) {
        self.format = format
        self.exponent = exponent
        self.unit = unit
        self.namespace = namespace
        self.description = description
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        format = try reader.readUInt8()
        exponent = Int8(bitPattern: try reader.readUInt8())
        unit = try reader.readUInt16()
        namespace = try reader.readUInt8()
        description = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(format)
        writer.write(UInt8(bitPattern: exponent))
        writer.write(unit)
        writer.write(namespace)
        writer.write(description)
    }
}
