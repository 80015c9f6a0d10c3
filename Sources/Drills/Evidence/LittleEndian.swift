/// Reads little-endian fields from octets that a process or a controller wrote; nil past their end.
struct OctetReader {
    private let octets: ArraySlice<UInt8>
    private(set) var offset: Int

    init(_ octets: some Collection<UInt8>) {
        self.octets = Array(octets)[...]
        offset = 0
    }

    var remaining: Int { octets.count - offset }

    mutating func integer<Integer: FixedWidthInteger & UnsignedInteger>(_ count: Int, as: Integer.Type = Integer.self)
        -> Integer?
    {
        guard let octets = bytes(count) else { return nil }
        return octets.reversed().reduce(0) { $0 << 8 | Integer($1) }
    }

    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, remaining >= count else { return nil }
        defer { offset += count }
        return octets[offset..<offset + count]
    }
}

extension Array where Element == UInt8 {
    init(littleEndian value: some FixedWidthInteger, count: Int) {
        self = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}

/// Octets as upper-case hexadecimal digits.
func hex(_ octets: some Sequence<UInt8>) -> String {
    octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
}
