import BluetoothCore

/// One notification of Audit Record (0005): part of a record, of a cut or of the signed end. What does not fit one notification goes
/// on in the next one of its link, with nothing between them.
package struct AuditRecordPart: WireCodable, Hashable {
    package enum Kind: UInt8, Sendable, CaseIterable {
        /// Its octets, and its hash.
        case record = 1
        /// Records that were forgotten.
        case cut = 2
        /// How far the chain goes, by its signature.
        case end = 3
    }

    private static let isFirst: UInt8 = 0x01
    private static let isLast: UInt8 = 0x02
    /// Before the octets.
    package static let headerOctets = 1

    package let kind: Kind
    package let isFirst: Bool
    package let isLast: Bool
    package let octets: [UInt8]

    package init(_ kind: Kind, isFirst: Bool, isLast: Bool, octets: [UInt8]) {
        self.kind = kind
        self.isFirst = isFirst
        self.isLast = isLast
        self.octets = octets
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let header = try reader.readUInt8()
        guard let kind = Kind(rawValue: header >> 4), header & 0x0F & ~(Self.isFirst | Self.isLast) == 0 else {
            throw .invalidValue(field: "part of a record")
        }
        self.init(
            kind, isFirst: header & Self.isFirst != 0, isLast: header & Self.isLast != 0,
            octets: reader.readRemaining())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(kind.rawValue << 4 | (isFirst ? Self.isFirst : 0) | (isLast ? Self.isLast : 0))
        writer.write(octets)
    }
}
