import BluetoothCore
import Simulation
import VirtualRadio
import WorldSupport

/// An attacker: a controller of its own that the test drives by HCI octets, since no stack does what it does. It advertises
/// under somebody else's address, 20 ms apart, and takes every connection.
final class RadioStranger: Stranger {
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

    var controller: ControllerID { raw.id }
    private(set) var connections = 0
    /// Somebody has confirmed what it indicated.
    private(set) var isConfirmed = false
    private let raw: RawController
    private let manner: Manner
    /// Of the Challenge value and of Service Changed, as the attacker has heard them.
    private let challengeHandle: [UInt8]
    private let serviceChangedHandle: [UInt8]
    private var challengeCount: UInt8 = 0

    init(
        _ world: World, _ manner: Manner, at address: DeviceAddress, data: [UInt8] = [],
        challengeHandle: [UInt8] = [0, 0], serviceChangedHandle: [UInt8] = [0, 0]
    ) {
        self.manner = manner
        self.challengeHandle = challengeHandle
        self.serviceChangedHandle = serviceChangedHandle
        raw = RawController(world)
        raw.setAddress(address)
        let type: UInt8 = manner == .replays ? 2 : 0
        raw.command(0x2006, [0x20, 0, 0x20, 0, type, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0])
        raw.command(0x2008, [UInt8(data.count)] + data + [UInt8](repeating: 0, count: 31 - data.count))
        advertise()
    }

    /// Reacts to what its controller says; whether there was anything.
    func step() -> Bool {
        let packets = raw.drain()
        for packet in packets { received(packet) }
        return !packets.isEmpty
    }

    private func received(_ packet: [UInt8]) {
        // Handle Value Confirmation.
        if packet.count == 10, packet[0] == 2, packet[7...9] == [4, 0, 0x1E] { isConfirmed = true }
        guard packet.count > 3, packet[0] == 4 else { return }
        switch (packet[1], packet[3]) {
        case (0x3E, 0x01) where packet[4] == 0: connected(UInt16(packet[5]) | UInt16(packet[6]) << 8)
        case (0x3E, 0x05):
            switch manner {
            case .keyMissing, .challenges, .changedTree: raw.command(0x201B, Array(packet[4...5]))
            case .wrongKey: raw.command(0x201A, Array(packet[4...5]) + [UInt8](repeating: 0x5A, count: 16))
            case .silent, .closes, .replays: break
            }
        case (0x05, _): advertise()
        default: break
        }
    }

    private func connected(_ handle: UInt16) {
        connections += 1
        switch manner {
        case .closes: raw.command(0x0406, RawController.little(handle) + [0x13])
        case .challenges:
            for _ in 0..<8 {
                challengeCount &+= 1
                raw.send([0x1B] + challengeHandle + [challengeCount, 1, 2, 3, 4, 5, 50, 1], on: handle)
            }
        case .changedTree: raw.send([0x1D] + serviceChangedHandle + [1, 0, 0xFF, 0xFF], on: handle)
        case .keyMissing, .silent, .wrongKey, .replays: break
        }
    }

    private func advertise() { raw.command(0x200A, [1]) }
}
