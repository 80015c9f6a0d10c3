import BluetoothCore
import VirtualRadio

/// A stranger's controller between a lock and its key, moved octet by octet: under any address, a central of the one and a
/// peripheral of the other at once.
package final class Intruder: Stranger {
    package enum Side: UInt8 { case central = 0, peripheral = 1 }

    private unowned let world: World
    private let radio: RawController
    private var handles: [Side: UInt16] = [:]
    /// PDUs of the attribute protocol that came on the link that stands, or stood last.
    private var received: [Side: [[UInt8]]] = [:]
    /// Hears that something has come.
    package var onChange: () -> Void = {}

    package init(_ world: World) {
        self.world = world
        radio = RawController(world)
        world.add(self)
    }

    package var controller: ControllerID { radio.id }

    /// Nothing of it is left on the air.
    package func leave() { world.remove(self) }

    package func isConnected(_ side: Side) -> Bool { handles[side] != nil }

    package func heard(_ side: Side) -> [[UInt8]] { received[side] ?? [] }

    /// Connects to who advertises at `peer`, as if it were `address`, as soon as it hears it.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.12 (LE Create Connection command)
    package func initiate(to peer: DeviceAddress, as address: DeviceAddress) {
        radio.setAddress(address)
        let kind: UInt8 = peer.kind == .random ? 1 : 0
        radio.command(
            0x200D,
            [0x10, 0, 0x10, 0, 0, kind] + RawController.octets(peer) + [1, 6, 0, 6, 0, 0, 0, 100, 0, 0, 0, 0, 0])
    }

    /// Lets itself be connected to, every 20 ms, as if it were `address`.
    package func advertise(as address: DeviceAddress) {
        radio.setAddress(address)
        radio.command(0x2006, [0x20, 0, 0x20, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0])
        radio.command(0x200A, [1])
    }

    package func stopAdvertising() { radio.command(0x200A, [0]) }

    /// Vol 3, Part F, 3.4: one PDU.
    package func send(_ pdu: [UInt8], _ side: Side) {
        if let handle = handles[side] { radio.send(pdu, on: handle) }
    }

    /// One packet of ACL data, as it is: a fragment of anything.
    package func sendFragment(_ octets: [UInt8], flags: UInt16, _ side: Side) {
        if let handle = handles[side] { radio.sendFragment(octets, flags: flags, on: handle) }
    }

    package func disconnect(_ side: Side) {
        if let handle = handles[side] { radio.command(0x0406, RawController.little(handle) + [0x13]) }
    }

    // MARK: Octets

    package func step() -> Bool {
        let packets = radio.drain()
        guard !packets.isEmpty else { return false }
        for packet in packets { read(packet) }
        onChange()
        return true
    }

    private func read(_ packet: [UInt8]) {
        if let pdu = RawController.attributePDU(packet) {
            let handle = UInt16(packet[1]) | UInt16(packet[2] & 0x0F) << 8
            guard let side = handles.first(where: { $0.value == handle })?.key else { return }
            received[side, default: []].append(pdu)
        } else if packet.first == 4 {
            event(packet)
        }
    }

    private func event(_ packet: [UInt8]) {
        guard packet.count > 6 else { return }
        let handle = { (at: Int) in UInt16(packet[at]) | UInt16(packet[at + 1]) << 8 }
        switch (packet[1], packet[3]) {
        case (0x3E, 0x01) where packet[4] == 0, (0x3E, 0x0A) where packet[4] == 0:
            guard let side = Side(rawValue: packet[7]) else { return }
            handles[side] = handle(5)
            received[side] = []
        // It has no key.
        case (0x3E, 0x05): radio.command(0x201B, Array(packet[4...5]))
        case (0x05, _): handles = handles.filter { $0.value != handle(4) }
        default: break
        }
    }
}
