import BluetoothCore
import VirtualRadio

/// A controller of a stranger's, which no host drives: a test speaks to it in octets of HCI.
struct RawController {
    let id: ControllerID
    private unowned let world: World

    /// Reset, and told to report every event.
    init(_ world: World) {
        self.world = world
        id = world.radio.addController()
        command(0x0C03, [])
        command(0x0C01, [UInt8](repeating: 0xFF, count: 8))
        command(0x2001, [0x1F] + [UInt8](repeating: 0, count: 7))
    }

    /// Everything that it has said since the last call.
    func drain() -> [[UInt8]] { world.radio.drain(id) }

    func command(_ opcode: UInt16, _ parameters: [UInt8]) {
        world.radio.send([1] + Self.little(opcode) + [UInt8(parameters.count)] + parameters, from: id)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.4 (LE Set Random Address command)
    func setAddress(_ address: DeviceAddress) { command(0x2005, Self.octets(address)) }

    /// One PDU of the attribute protocol, which fits one packet.
    func send(_ pdu: [UInt8], on handle: UInt16) {
        let frame = Self.little(UInt16(pdu.count)) + [4, 0] + pdu
        world.radio.send([2] + Self.little(handle) + Self.little(UInt16(frame.count)) + frame, from: id)
    }

    static func octets(_ address: DeviceAddress) -> [UInt8] {
        (0..<6).map { UInt8(truncatingIfNeeded: address.bits >> (8 * UInt64($0))) }
    }

    static func little(_ value: UInt16) -> [UInt8] {
        [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
    }
}
