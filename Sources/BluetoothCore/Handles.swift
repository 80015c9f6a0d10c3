/// A connection's handle in its controller: 12 bits, 0x0000–0x0EFF.
///
/// Core 5.4, Vol 4, Part E, 5.4.2 (HCI ACL Data packets)
package struct ConnectionHandle: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt16
    package init(_ rawValue: UInt16) { self.rawValue = rawValue & 0x0FFF }
    package var description: String { "0x" + String(rawValue, radix: 16) }
}

/// An attribute's handle in its server: 0x0001–0xFFFF; 0 is reserved.
///
/// Core 5.4, Vol 3, Part F, 3.2.2 (Attribute Handle)
package struct AttributeHandle: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let rawValue: UInt16
    package init(_ rawValue: UInt16) { self.rawValue = rawValue }
    package static let first = Self(0x0001)
    package static let last = Self(0xFFFF)
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    package var description: String { "0x" + String(rawValue, radix: 16) }
}

/// The name under which an app knows a peer: made at random by this side, kept with the peer's identity, never sent.
/// 128 bits, the same as Foundation's `UUID` read most significant octet first.
package struct PeerIdentifier: Hashable, Sendable, CustomStringConvertible, LosslessStringConvertible {
    package let bits: UInt128
    package init(bits: UInt128) { self.bits = bits }

    package var description: String {
        let text = String(bits, radix: 16, uppercase: true)
        let all = Array(String(repeating: "0", count: 32 - text.count) + text)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(all[$0]) }.joined(separator: "-")
    }

    package init?(_ description: String) {
        guard description.utf8.count == 36, let uuid = BluetoothUUID(description) else { return nil }
        bits = uuid.bits
    }
}
