import BluetoothCore

/// What a lock can do. An operation or a procedure has the bit of its number less one, the first octet's least significant bit first.
package struct Capabilities: WireCodable, Hashable {
    package var version: UInt8
    package var operations: UInt8
    /// As many octets as it takes.
    package var procedures: [UInt8]

    package init(version: UInt8, operations: [LockOperation], procedures: [ControlPointOpcode]) {
        self.version = version
        self.operations = Self.mask(operations.map(\.rawValue)).first ?? 0
        self.procedures = Self.mask(procedures.map(\.rawValue))
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        version = try reader.readUInt8()
        operations = try reader.readUInt8()
        procedures = reader.readRemaining()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(version)
        writer.write(operations)
        writer.write(procedures)
    }

    /// Whether a lock has this procedure.
    package func contains(_ procedure: ControlPointOpcode) -> Bool {
        let (octet, bit) = (Int(procedure.rawValue) - 1).quotientAndRemainder(dividingBy: 8)
        return procedures.indices.contains(octet) && bit >= 0 && procedures[octet] >> bit & 1 == 1
    }

    private static func mask(_ numbers: [UInt8]) -> [UInt8] {
        var mask: [UInt8] = []
        for number in numbers where number > 0 {
            let (octet, bit) = Int(number - 1).quotientAndRemainder(dividingBy: 8)
            mask += [UInt8](repeating: 0, count: max(octet + 1 - mask.count, 0))
            mask[octet] |= 1 << bit
        }
        return mask
    }
}
