/// A Bluetooth device address as controllers carry it: 48 bits and whether it is public or random. On the air it says
/// who speaks now; who that *is*, only an ``IdentityAddress`` says.
///
/// Core 5.4, Vol 6, Part B, 1.3 (Device Address)
package struct DeviceAddress: Hashable, Sendable {
    package enum Kind: UInt8, Sendable { case `public` = 0, random = 1 }

    package var kind: Kind
    /// The 48 bits, most significant octet in bits 47–40 as written `C0:…`.
    package var bits: UInt64

    package init(kind: Kind, bits: UInt64) {
        self.kind = kind
        self.bits = bits & 0xFFFF_FFFF_FFFF
    }

    /// What the two most significant bits of a random address say it is.
    ///
    /// Core 5.4, Vol 6, Part B, 1.3.2 (Random Device Address)
    package enum RandomKind: Sendable { case nonResolvable, resolvable, `static`, reserved }

    /// nil for a public address.
    package var randomKind: RandomKind? {
        guard kind == .random else { return nil }
        return switch bits >> 46 {
        case 0b00: .nonResolvable
        case 0b01: .resolvable
        case 0b11: .static
        default: .reserved
        }
    }

    package var isResolvable: Bool { randomKind == .resolvable }
    /// Public or static random: an address that may stand for an identity.
    package var isIdentity: Bool { kind == .public || randomKind == .static }
}

extension DeviceAddress: CustomStringConvertible, LosslessStringConvertible {
    /// `C0:11:22:33:44:55` for public, with `/random` behind it for random ones.
    package var description: String { Self.text(bits) + (kind == .random ? "/random" : "") }

    package init?(_ description: String) {
        let parts = description.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, let bits = Self.parse(first) else { return nil }
        switch parts.count {
        case 1: self.init(kind: .public, bits: bits)
        case 2 where parts[1] == "random": self.init(kind: .random, bits: bits)
        default: return nil
        }
    }

    private static func text(_ bits: UInt64) -> String {
        stride(from: 40, through: 0, by: -8)
            .map { shift in
                let octet = UInt8(truncatingIfNeeded: bits >> UInt64(shift))
                return (octet < 16 ? "0" : "") + String(octet, radix: 16, uppercase: true)
            }
            .joined(separator: ":")
    }

    private static func parse(_ text: Substring) -> UInt64? {
        let octets = text.split(separator: ":", omittingEmptySubsequences: false)
        guard octets.count == 6 else { return nil }
        var bits: UInt64 = 0
        for octet in octets {
            guard octet.utf8.count == 2, let value = UInt8(digits: octet, radix: 16) else { return nil }
            bits = bits << 8 | UInt64(value)
        }
        return bits
    }
}

/// The address by which a bonded device is known for good: public or static random, distributed in pairing. It is only
/// the peer's claim until a link has been encrypted with the bond's key.
///
/// Core 5.4, Vol 3, Part H, 2.4.3 (Identity Address)
package struct IdentityAddress: Hashable, Sendable, CustomStringConvertible {
    package let address: DeviceAddress

    /// nil for resolvable, non-resolvable and reserved addresses.
    package init?(_ address: DeviceAddress) {
        guard address.isIdentity else { return nil }
        self.address = address
    }

    package var description: String { address.description }
}
