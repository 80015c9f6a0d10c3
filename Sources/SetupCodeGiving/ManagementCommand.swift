import BluetoothCore

/// The one command of the kernel's Bluetooth management that the helper has.
///
/// Linux, BlueZ's doc/mgmt-api.txt
package enum ManagementCommand {
    private static let addRemoteOutOfBandData: UInt16 = 0x0021
    private static let commandComplete: UInt16 = 0x0001
    private static let commandStatus: UInt16 = 0x0002
    private static let headerOctets = 6

    /// Add Remote Out Of Band Data Command: the values of P-192, which LE has not, are zero. The kernel has numbers least significant octet
    /// first, also these.
    package static func add(_ code: GivenCode) -> [UInt8] {
        let address = stride(from: 0, through: 40, by: 8).map {
            UInt8(truncatingIfNeeded: code.address.bits >> UInt64($0))
        }
        // 1 is a public address of LE, 2 a random one; 0 is BR/EDR's.
        let body =
            address + [code.address.kind == .public ? 1 : 2] + [UInt8](repeating: 0, count: 2 * GivenCode.valueOctets)
            + code.confirm.reversed() + code.random.reversed()
        return [addRemoteOutOfBandData, code.adapter, UInt16(body.count)].flatMap { number in
            [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
        } + body
    }

    /// What a packet of the kernel's says of that command on this adapter; nil for one that says nothing of it.
    package static func status(in packet: [UInt8], adapter: UInt16) -> ManagementStatus? {
        guard packet.count >= headerOctets + 3 else { return nil }
        func number(_ place: Int) -> UInt16 { UInt16(packet[place]) | UInt16(packet[place + 1]) << 8 }
        guard [commandComplete, commandStatus].contains(number(0)), number(2) == adapter,
            number(headerOctets) == addRemoteOutOfBandData
        else { return nil }
        return ManagementStatus(rawValue: packet[headerOctets + 2])
    }
}

/// BlueZ's doc/mgmt-api.txt, Error Codes
package struct ManagementStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let success = Self(rawValue: 0x00)
    package static let notPowered = Self(rawValue: 0x0F)
    package static let invalidIndex = Self(rawValue: 0x11)
    package static let permissionDenied = Self(rawValue: 0x14)

    package var description: String {
        switch self {
        case .success: "success"
        case .notPowered: "the adapter is off"
        case .invalidIndex: "there is no such adapter"
        case .permissionDenied: "permission denied"
        default: "status \(rawValue)"
        }
    }
}
