import BluetoothCore
import VirtualRadio

/// An attacker: a controller of its own that the test drives by HCI octets, since no stack does what it does. It advertises
/// under somebody else's address, 20 ms apart, and takes every connection.
final class RadioStranger {
    /// What becomes of whoever connects to it.
    enum Manner: CaseIterable {
        /// "PIN or Key Missing" to the encryption.
        case keyMissing
        /// Nothing is ever answered.
        case silent
        /// It leaves as soon as it is connected.
        case closes
        /// It encrypts with a key that it has made up.
        case wrongKey
        /// It notifies challenges without end, and has no key either.
        case challenges
        /// It says that the tree has changed, and has no key either.
        case changedTree
        /// Nobody can connect to it: it only repeats what it has heard.
        case replays
    }

    private(set) var connections = 0
    /// Somebody has confirmed what it indicated.
    private(set) var isConfirmed = false
    let controller: ControllerID
    private unowned let world: World
    private let manner: Manner
    /// Of the Challenge value and of Service Changed, as the attacker has heard them.
    private let challengeHandle: [UInt8]
    private let serviceChangedHandle: [UInt8]
    private var challengeCount: UInt8 = 0

    init(
        _ world: World, _ manner: Manner, at address: DeviceAddress, data: [UInt8] = [],
        challengeHandle: [UInt8] = [0, 0], serviceChangedHandle: [UInt8] = [0, 0]
    ) {
        self.world = world
        self.manner = manner
        self.challengeHandle = challengeHandle
        self.serviceChangedHandle = serviceChangedHandle
        controller = world.radio.addController()
        send(0x0C03, [])
        send(0x0C01, [UInt8](repeating: 0xFF, count: 8))
        send(0x2001, [0x1F] + [UInt8](repeating: 0, count: 7))
        send(0x2005, Self.octets(address))
        let type: UInt8 = manner == .replays ? 2 : 0
        send(0x2006, [0x20, 0, 0x20, 0, type, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0])
        send(0x2008, [UInt8(data.count)] + data + [UInt8](repeating: 0, count: 31 - data.count))
        advertise()
    }

    /// Reacts to what its controller says; whether there was anything.
    func step() -> Bool {
        let packets = world.radio.drain(controller)
        for packet in packets { received(packet) }
        return !packets.isEmpty
    }

    private func received(_ packet: [UInt8]) {
        // Handle Value Confirmation.
        if packet.count == 10, packet[0] == 2, packet[7...9] == [4, 0, 0x1E] { isConfirmed = true }
        guard packet.count > 3, packet[0] == 4 else { return }
        switch (packet[1], packet[3]) {
        case (0x3E, 0x01) where packet[4] == 0: connected(Array(packet[5...6]))
        case (0x3E, 0x05):
            switch manner {
            case .keyMissing, .challenges, .changedTree: send(0x201B, Array(packet[4...5]))
            case .wrongKey: send(0x201A, Array(packet[4...5]) + [UInt8](repeating: 0x5A, count: 16))
            case .silent, .closes, .replays: break
            }
        case (0x05, _): advertise()
        default: break
        }
    }

    private func connected(_ handle: [UInt8]) {
        connections += 1
        switch manner {
        case .closes: send(0x0406, handle + [0x13])
        case .challenges:
            for _ in 0..<8 {
                challengeCount &+= 1
                notify(handle, [0x1B] + challengeHandle + [challengeCount, 1, 2, 3, 4, 5, 50, 1])
            }
        case .changedTree: notify(handle, [0x1D] + serviceChangedHandle + [1, 0, 0xFF, 0xFF])
        case .keyMissing, .silent, .wrongKey, .replays: break
        }
    }

    private func notify(_ handle: [UInt8], _ pdu: [UInt8]) {
        let octets = UInt8(pdu.count)
        world.radio.send([2] + handle + [octets + 4, 0, octets, 0, 4, 0] + pdu, from: controller)
    }

    private func advertise() { send(0x200A, [1]) }

    private func send(_ opcode: UInt16, _ parameters: [UInt8]) {
        world.radio.send(
            [1, UInt8(opcode & 0xFF), UInt8(opcode >> 8), UInt8(parameters.count)] + parameters, from: controller)
    }

    private static func octets(_ address: DeviceAddress) -> [UInt8] {
        (0..<6).map { UInt8(truncatingIfNeeded: address.bits >> (8 * UInt64($0))) }
    }
}
