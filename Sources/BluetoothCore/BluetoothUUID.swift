/// A UUID as attributes carry it: 16 bits of the SIG's range, or 128 bits.
///
/// Core 5.4, Vol 3, Part B, 2.5.1 (UUID)
package struct BluetoothUUID: Hashable, Sendable {
    /// The 128 bits; the first hexadecimal digit of the text is the most significant.
    package let bits: UInt128

    /// 00000000-0000-1000-8000-00805F9B34FB.
    private static let base: UInt128 = 0x0000_0000_0000_1000_8000_0080_5F9B_34FB

    package init(bits: UInt128) { self.bits = bits }

    package init(_ short: UInt16) { bits = Self.base | UInt128(short) << 96 }

    package init(thirtyTwoBits: UInt32) { bits = Self.base | UInt128(thirtyTwoBits) << 96 }

    /// The 16-bit form, for a UUID that has one.
    package var short: UInt16? {
        guard bits & ~(UInt128(0xFFFF) << 96) == Self.base else { return nil }
        return UInt16(truncatingIfNeeded: bits >> 96)
    }

    /// Octets in an attribute PDU: 2 or 16. (32-bit UUIDs are converted to 128 there.)
    ///
    /// Core 5.4, Vol 3, Part F, 3.2.1 (Attribute Type)
    package var encodedLength: Int { short == nil ? 16 : 2 }

    package func encode(into writer: inout ByteWriter) {
        if let short { writer.write(short) } else { writer.write(bits) }
    }

    /// Reads `length` octets, which must be 2 or 16.
    package init(decoding reader: inout ByteReader, length: Int) throws(DecodingError) {
        switch length {
        case 2: self.init(try reader.readUInt16())
        case 16: self.init(bits: try reader.readUInt128())
        default: throw .invalidValue(field: "UUID length")
        }
    }
}

extension BluetoothUUID: CustomStringConvertible, LosslessStringConvertible, ExpressibleByIntegerLiteral {
    package init(integerLiteral value: UInt16) { self.init(value) }

    /// Four hexadecimal digits where the UUID has a 16-bit form, else 8-4-4-4-12.
    package var description: String {
        if let short { return Self.hex(UInt128(short), digits: 4) }
        let all = Array(Self.hex(bits, digits: 32))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(all[$0]) }.joined(separator: "-")
    }

    /// Four, eight or 32 digits (the last in 8-4-4-4-12 form); nil for anything else.
    package init?(_ description: String) {
        let digits = description.utf8.filter { $0 != UInt8(ascii: "-") }
        guard digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
            let value = UInt128(String(decoding: digits, as: UTF8.self), radix: 16)
        else { return nil }
        switch description.utf8.count {
        case 4: self.init(UInt16(truncatingIfNeeded: value))
        case 8: self.init(bits: Self.base | value << 96)
        case 36:
            let dashes = description.utf8.enumerated().filter { $0.element == UInt8(ascii: "-") }.map(\.offset)
            guard dashes == [8, 13, 18, 23] else { return nil }
            self.init(bits: value)
        default: return nil
        }
    }

    private static func hex(_ value: UInt128, digits: Int) -> String {
        let text = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
