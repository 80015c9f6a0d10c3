import BluetoothCore
import BluetoothCrypto

/// What a value is at one time: the first four octets of the SHA-256 of its octets. It outlives links and restarts, since it is made
/// anew of the value itself.
package struct ValueVersion: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package init(of octets: [UInt8]) {
        rawValue = SHA256.digest(octets).prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    package var octets: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: rawValue >> (8 * $0)) } }
}

/// Where in a value a reader goes on.
package struct ReadingPlace: WireCodable, Hashable {
    /// Octets that the reader has.
    package var offset: UInt16
    /// Of the value that these octets are of. Nobody looks at it where the reader has none.
    package var version: ValueVersion

    package static let start = Self(offset: 0, version: ValueVersion(rawValue: 0))

    package init(offset: UInt16, version: ValueVersion) {
        self.offset = offset
        self.version = version
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        offset = try reader.readUInt16()
        version = ValueVersion(rawValue: try reader.readUInt32())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(offset)
        writer.write(version.rawValue)
    }
}

/// As much of a value as one answer holds.
package struct ValuePart: WireCodable, Hashable {
    private static let last: UInt8 = 0x01

    /// The value ends with these octets.
    package var isLast: Bool
    package var octets: [UInt8]

    package init(isLast: Bool, octets: [UInt8]) {
        self.isLast = isLast
        self.octets = octets
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let flags = try reader.readUInt8()
        guard flags & ~Self.last == 0 else { throw .invalidValue(field: "flags of a part") }
        isLast = flags == Self.last
        octets = reader.readRemaining()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(isLast ? Self.last : 0)
        writer.write(octets)
    }
}

/// A value as it is read, in as many parts as its reader's MTU makes of it. Nobody reads a part of one version and the rest of another.
package struct ReadableValue: Hashable, Sendable {
    private let octets: [UInt8]
    private let version: ValueVersion
    /// An offset lies within these: they are what the version is of.
    private let versionedOctets: Int

    /// The version, and the value.
    package init<Value: WireCodable>(_ value: Value) {
        let content = value.encoded
        version = ValueVersion(of: content)
        var writer = ByteWriter(capacity: content.count + 4)
        writer.write(version.rawValue)
        writer.write(content)
        octets = writer.bytes
        versionedOctets = octets.count
    }

    /// A list from one row on. An offset is one into its first row, and that row's version counts.
    package init(_ rows: [CredentialRow]) {
        octets = rows.flatMap(\.encoded)
        version = rows.first?.version ?? ValueVersion(rawValue: 0)
        versionedOctets = rows.first?.encoded.count ?? 0
    }

    /// What is answered to who goes on at `place` and takes so many octets of a response.
    package func response(
        to request: ControlPointOpcode, at place: ReadingPlace, responseOctets: Int
    ) -> ControlPointResponse {
        func refused(_ result: ControlPointResult) -> ControlPointResponse {
            ControlPointResponse(request: request, result: result)
        }
        let offset = Int(place.offset)
        guard offset == 0 || place.version == version else { return refused(.changed) }
        guard offset <= versionedOctets else { return refused(.invalidOperand) }
        let left = octets.dropFirst(offset)
        // Behind the response's three octets and the part's flags.
        let part = Array(left.prefix(max(responseOctets - ControlPointResponse.headerOctets - 1, 0)))
        return ControlPointResponse(
            request: request, result: .success,
            parameters: ValuePart(isLast: part.count == left.count, octets: part).encoded)
    }
}
