/// A device address on the air and its kind: 48 bits, the most significant octet first in text.
///
/// Core 5.4, Vol 6, Part B, 1.3 (Device Address)
package struct RadioAddress: Hashable, Sendable, CustomStringConvertible {
    package var isRandom: Bool
    /// The low 48 bits.
    package var value: UInt64

    package init(isRandom: Bool, value: UInt64) {
        self.isRandom = isRandom
        self.value = value & 0xFFFF_FFFF_FFFF
    }

    // Public addresses are locally administered here, so that they are nobody's.

    /// `02:4C:41:00:00:00` and the ordinal: whatever connects later has another.
    static func ofController(_ id: ControllerID) -> Self {
        Self(isRandom: false, value: 0x024C_4100_0000 + UInt64(id.ordinal))
    }

    /// `02:4C:41:01:00:00` and the adapter's number, whoever is its host.
    static func ofAdapter(_ number: Int) -> Self {
        Self(isRandom: false, value: 0x024C_4101_0000 + UInt64(number))
    }

    /// The address type octet of commands and events.
    var typeOctet: UInt8 { isRandom ? 1 : 0 }

    /// Core 5.4, Vol 6, Part B, 1.3.2.1 (Static Device Address)
    var isStatic: Bool { isRandom && value >> 46 == 0b11 }

    /// Core 5.4, Vol 6, Part B, 1.3.2.2 (Private Device Address): a resolvable one
    var isResolvable: Bool { isRandom && value >> 46 == 0b01 }

    /// `C0:11:22:33:44:55`
    package var description: String {
        var text = ""
        for index in (0..<6).reversed() {
            let octet = UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))
            text += octet < 16 ? "0" : ""
            text += String(octet, radix: 16, uppercase: true)
            if index > 0 { text += ":" }
        }
        return text
    }

    /// The 48 bits that a text such as `C0:11:22:33:44:55` stands for.
    static func parseValue(_ text: some StringProtocol) -> UInt64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6 else { return nil }
        var value: UInt64 = 0
        for part in parts {
            guard part.utf8.count == 2, part.first?.isHexDigit == true, let octet = UInt8(part, radix: 16) else {
                return nil
            }
            value = value << 8 | UInt64(octet)
        }
        return value
    }
}
