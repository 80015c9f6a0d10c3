import BluetoothCore
import VirtualRadio

/// A controller of a stranger's, which no host drives: a test speaks to it in octets of HCI.
package struct RawController {
    package let wire: Wire

    /// Reset, and told to report every event.
    package init(_ world: World) {
        wire = world.air.plug()
        command(0x0C03, [])
        command(0x0C01, [UInt8](repeating: 0xFF, count: 8))
        command(0x2001, [0x1F] + [UInt8](repeating: 0, count: 7))
    }

    package var id: ControllerID { wire.controller }

    /// Everything that it has said since the last call.
    package func drain() -> [[UInt8]] { wire.receive() }

    package func command(_ opcode: UInt16, _ parameters: [UInt8]) {
        wire.send([1] + Self.little(opcode) + [UInt8(parameters.count)] + parameters)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.4 (LE Set Random Address command)
    package func setAddress(_ address: DeviceAddress) { command(0x2005, Self.octets(address)) }

    /// ACL data, in one packet.
    package func sendFragment(_ octets: [UInt8], flags: UInt16, on handle: UInt16) {
        wire.send([2] + Self.little(handle | flags << 12) + Self.little(UInt16(octets.count)) + octets)
    }

    /// One PDU of the attribute protocol, which fits one packet.
    package func send(_ pdu: [UInt8], on handle: UInt16) {
        sendFragment(Self.little(UInt16(pdu.count)) + [4, 0] + pdu, flags: 0, on: handle)
    }

    package static func octets(_ address: DeviceAddress) -> [UInt8] {
        (0..<6).map { UInt8(truncatingIfNeeded: address.bits >> (8 * UInt64($0))) }
    }

    package static func little(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    /// Whether a packet from a host begins advertising.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.9 and 7.8.56 (LE Set Advertising Enable, LE Set Extended Advertising Enable)
    static func startsAdvertising(_ packet: [UInt8]) -> Bool {
        guard packet.count > 4, packet[0] == 1, packet[2] == 0x20 else { return false }
        return (packet[1] == 0x0A || packet[1] == 0x39) && packet[4] == 1
    }

    /// The PDU of the attribute protocol that a packet between a host and its controller begins, if it does.
    ///
    /// Core 5.4, Vol 3, Part A, 3.1 (Connection-oriented channels in Basic L2CAP mode)
    package static func attributePDU(_ packet: [UInt8]) -> [UInt8]? {
        guard packet.count > 9, packet[0] == 2, packet[7] == 4, packet[8] == 0 else { return nil }
        return Array(packet[9...])
    }
}
