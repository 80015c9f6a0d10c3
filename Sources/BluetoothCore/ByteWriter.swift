/// Writes little-endian fields. Keep one and `removeAll()` it between PDUs: its storage is then reused.
package struct ByteWriter: Sendable {
    package private(set) var bytes: [UInt8]

    package init() { bytes = [] }

    /// With room for so many octets.
    package init(capacity: Int) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    package mutating func write(_ value: UInt8) { bytes.append(value) }

    /// Octet by octet, which costs less than a copy of two.
    package mutating func write(_ value: UInt16) {
        bytes.append(UInt8(truncatingIfNeeded: value))
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
    }

    /// The low 24 bits.
    package mutating func writeUInt24(_ value: UInt32) {
        write(UInt16(truncatingIfNeeded: value))
        write(UInt8(truncatingIfNeeded: value >> 16))
    }

    package mutating func write(_ value: UInt32) { appendLittleEndian(value) }

    /// The low 48 bits.
    package mutating func writeUInt48(_ value: UInt64) {
        write(UInt32(truncatingIfNeeded: value))
        write(UInt16(truncatingIfNeeded: value >> 32))
    }

    package mutating func write(_ value: UInt64) { appendLittleEndian(value) }

    package mutating func write(_ value: UInt128) { appendLittleEndian(value) }

    package mutating func write(_ octets: [UInt8]) { bytes.append(contentsOf: octets) }

    package mutating func write(_ octets: ArraySlice<UInt8>) { bytes.append(contentsOf: octets) }

    package mutating func write(_ octets: RawSpan) { octets.withUnsafeBytes { bytes.append(contentsOf: $0) } }

    private mutating func appendLittleEndian<T: FixedWidthInteger>(_ value: T) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }
}
