import BluetoothCore

/// A peer's setup code, on its way to the kernel of the machine: what bluetoothd pairs by.
///
/// On the socket: adapter (2 octets, least significant first), kind of the address (1), address, r and C (6, 16 and 16, most significant
/// octet first, as in the code itself). One answer follows (``GivingAnswer``).
package struct GivenCode: Equatable, Sendable {
    package static let octetsCount = 2 + 1 + 6 + valueOctets + valueOctets
    package static let valueOctets = 16

    /// The kernel's number of it: 1 for hci1.
    package let adapter: UInt16
    package let address: DeviceAddress
    /// r.
    package let random: [UInt8]
    /// C.
    package let confirm: [UInt8]

    /// nil unless the address is one that a device is known by for good, and both values have 16 octets.
    package init?(adapter: UInt16, address: DeviceAddress, random: [UInt8], confirm: [UInt8]) {
        guard address.isIdentity, random.count == Self.valueOctets, confirm.count == Self.valueOctets else {
            return nil
        }
        (self.adapter, self.address, self.random, self.confirm) = (adapter, address, random, confirm)
    }

    package init?(_ octets: [UInt8]) {
        guard octets.count == Self.octetsCount, let kind = DeviceAddress.Kind(rawValue: octets[2]) else { return nil }
        let bits = octets[3..<9].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.init(
            adapter: UInt16(octets[0]) | UInt16(octets[1]) << 8, address: DeviceAddress(kind: kind, bits: bits),
            random: Array(octets[9..<25]), confirm: Array(octets[25..<41]))
    }

    package var octets: [UInt8] {
        [UInt8(truncatingIfNeeded: adapter), UInt8(truncatingIfNeeded: adapter >> 8), address.kind.rawValue]
            + stride(from: 40, through: 0, by: -8).map { UInt8(truncatingIfNeeded: address.bits >> UInt64($0)) }
            + random
            + confirm
    }
}

extension GivenCode: CustomStringConvertible, CustomReflectable {
    /// Whoever reads r may enrol.
    package var description: String { "a code of \(address)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// What became of it, in two octets: the kind, and for ``kernel(_:)`` the kernel's status.
package enum GivingAnswer: Hashable, Sendable {
    case given
    /// It was no code.
    case malformed
    /// Whoever asks has no session that is the active one of a seat, and is not root.
    case notAllowed
    /// The kernel does not talk to the helper.
    case noKernel
    case kernel(ManagementStatus)

    package init?(_ octets: [UInt8]) {
        guard octets.count == 2 else { return nil }
        switch octets[0] {
        case 0: self = .given
        case 1: self = .malformed
        case 2: self = .notAllowed
        case 3: self = .noKernel
        case 4: self = .kernel(ManagementStatus(rawValue: octets[1]))
        default: return nil
        }
    }

    package var octets: [UInt8] {
        switch self {
        case .given: [0, 0]
        case .malformed: [1, 0]
        case .notAllowed: [2, 0]
        case .noKernel: [3, 0]
        case .kernel(let status): [4, status.rawValue]
        }
    }
}

extension GivingAnswer: CustomStringConvertible {
    package var description: String {
        switch self {
        case .given: "given"
        case .malformed: "the helper understands no such code: install the same version of both programs"
        case .notAllowed:
            "only the user of the session at the machine may pair: do it there, or have root allow others "
                + "(docs/OPERATING.md, \"A key on bluetoothd's adapter\")"
        case .noKernel: "the helper may not talk to the kernel: it needs CAP_NET_ADMIN, which its unit gives it"
        case .kernel(let status): "the kernel says: \(status)"
        }
    }
}
