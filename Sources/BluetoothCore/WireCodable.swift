/// A value with one encoding in octets: every PDU, and every structure inside one.
package protocol WireCodable: Equatable, Sendable {
    /// Reads the fields in wire order. Whether octets may follow is the caller's to say: see ``init(exactly:)``.
    init(decoding reader: inout ByteReader) throws(DecodingError)
    /// Appends the fields in wire order.
    func encode(into writer: inout ByteWriter)
}

extension WireCodable {
    /// Decodes a value that must fill `bytes` exactly.
    package init(exactly bytes: [UInt8]) throws(DecodingError) {
        var reader = ByteReader(bytes.span.bytes)
        self = try Self(decoding: &reader)
        try reader.expectEnd()
    }

    /// The encoding by itself.
    package var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 32)
        encode(into: &writer)
        return writer.bytes
    }
}
