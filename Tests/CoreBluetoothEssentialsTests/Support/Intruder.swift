import BluetoothCore
import Simulation
import WorldSupport

/// A stranger's controller between a lock and its key, moved octet by octet: under any address, a central of the one and a
/// peripheral of the other at once.
final class Intruder {
    enum Side: UInt8 { case central = 0, peripheral = 1 }

    private static let attributeProtocol: [UInt8] = [4, 0]

    private let world: World
    private let controller: RawController
    private var handles: [Side: UInt16] = [:]
    /// PDUs of the attribute protocol that came on the link that stands, or stood last.
    private var received: [Side: [[UInt8]]] = [:]

    init(_ world: World) {
        self.world = world
        controller = RawController(world)
    }

    func isConnected(_ side: Side) -> Bool {
        read()
        return handles[side] != nil
    }

    func heard(_ side: Side) -> [[UInt8]] {
        read()
        return received[side] ?? []
    }

    /// Connects to who advertises at `peer`, as if it were `address`.
    func connect(to peer: DeviceAddress, as address: DeviceAddress) {
        controller.setAddress(address)
        let kind: UInt8 = peer.kind == .random ? 1 : 0
        controller.command(
            0x200D,
            [0x10, 0, 0x10, 0, 0, kind] + RawController.octets(peer) + [1, 6, 0, 6, 0, 0, 0, 100, 0, 0, 0, 0, 0])
        run(2_000) { isConnected(.central) }
    }

    /// Lets itself be connected to, every 20 ms, as if it were `address`.
    func advertise(as address: DeviceAddress) {
        controller.setAddress(address)
        controller.command(0x2006, [0x20, 0, 0x20, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0])
        controller.command(0x200A, [1])
    }

    /// Vol 3, Part F, 3.4: one PDU.
    func send(_ pdu: [UInt8], _ side: Side) {
        if let handle = handles[side] { controller.send(pdu, on: handle) }
    }

    func disconnect(_ side: Side) {
        guard let handle = handles[side] else { return }
        controller.command(0x0406, RawController.little(handle) + [0x13])
        run(2_000) { !isConnected(side) }
    }

    @discardableResult
    func run(_ milliseconds: UInt64, until condition: () -> Bool) -> Bool {
        world.run(forMilliseconds: milliseconds) {
            read()
            return condition()
        }
    }

    // MARK: Octets

    private func read() {
        for packet in controller.drain() {
            switch packet.first {
            case 2 where packet.count > 9 && Array(packet[7...8]) == Self.attributeProtocol:
                let handle = UInt16(packet[1]) | UInt16(packet[2] & 0x0F) << 8
                guard let side = handles.first(where: { $0.value == handle })?.key else { break }
                received[side, default: []].append(Array(packet[9...]))
            case 4: event(packet)
            default: break
            }
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
        case (0x3E, 0x05): controller.command(0x201B, Array(packet[4...5]))
        case (0x05, _): handles = handles.filter { $0.value != handle(4) }
        default: break
        }
    }
}
