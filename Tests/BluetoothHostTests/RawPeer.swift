import BluetoothCore
import BluetoothCrypto
import HCI
import Simulation
import WorldSupport

/// A stranger on the air: a controller whose host is this script. It speaks octets and owes nobody the truth, its
/// address included.
final class RawPeer {
    private let world: World
    private let raw: RawController
    private(set) var handle: UInt16?
    /// Why the last link ended.
    private(set) var reason: UInt8?
    /// Whole PDUs received on this link, by channel.
    private(set) var received: [UInt16: [[UInt8]]] = [:]
    private(set) var isEncrypted = false
    private(set) var encryptionStatus: UInt8?
    /// The address of each advertisement, and of each scan request to a broadcast.
    private(set) var advertisers: [DeviceAddress] = []
    private(set) var scanners: [DeviceAddress] = []
    private var fragments: [UInt8] = []
    private let address: DeviceAddress
    /// As peripheral: has no key for anybody who encrypts.
    var refusesKeys = false

    init(_ world: World, address: DeviceAddress) {
        self.world = world
        self.address = address
        raw = RawController(world)
        raw.setAddress(address)
        read()
    }

    static let attributeProtocol: UInt16 = 4
    static let signalling: UInt16 = 5
    static let securityManager: UInt16 = 6

    var att: [[UInt8]] { received[Self.attributeProtocol] ?? [] }
    var smp: [[UInt8]] { received[Self.securityManager] ?? [] }

    private static func address(_ kind: UInt8, _ octets: ArraySlice<UInt8>) -> DeviceAddress {
        DeviceAddress(
            kind: kind & 1 == 0 ? .public : .random, bits: octets.reversed().reduce(0) { $0 << 8 | UInt64($1) })
    }

    func command(_ opcode: UInt16, _ parameters: [UInt8]) {
        raw.command(opcode, parameters)
        read()
    }

    // MARK: Links

    /// Connects as central; false when nothing came of it in two seconds.
    @discardableResult
    func connect(to address: DeviceAddress) -> Bool {
        reason = nil
        received = [:]
        isEncrypted = false
        encryptionStatus = nil
        command(
            0x200D,
            [0x10, 0, 0x10, 0, 0, 1] + RawController.octets(address) + [1, 6, 0, 6, 0, 0, 0, 100, 0, 0, 0, 0, 0])
        if run(2_000, until: { self.handle != nil }) { return true }
        command(0x200E, [])
        return false
    }

    /// Lets itself be connected to, with nothing to say of itself.
    func advertise() {
        command(0x2006, [0x20, 0, 0x20, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0])
        command(0x200A, [1])
    }

    /// Lets one central alone connect: low duty cycle directed advertising.
    func advertise(to central: DeviceAddress) {
        command(0x2006, [0x20, 0, 0x20, 0, 4, 1, 1] + RawController.octets(central) + [7, 0])
        command(0x200A, [1])
    }

    /// Advertises to one central alone: at an interval, or at once and without a pause for 1.28 s.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.5 (LE Set Advertising Parameters command)
    func advertise(to target: DeviceAddress, isHighDuty: Bool, ownAddressType: UInt8 = 1) {
        command(
            0x2006,
            [0x20, 0, 0x20, 0, isHighDuty ? 1 : 4, ownAddressType, target.kind == .random ? 1 : 0]
                + RawController.octets(target) + [7, 0])
        command(0x200A, [1])
    }

    /// The same by an extended set: connectable, directed, 20 ms on the LE 1M PHY.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.53 (LE Set Extended Advertising Parameters command)
    func advertiseExtended(to target: DeviceAddress) {
        command(
            0x2036,
            [1, 0x05, 0, 0x20, 0, 0, 0x20, 0, 0, 7, 1, target.kind == .random ? 1 : 0] + RawController.octets(target)
                + [0, 0x7F, 1, 0, 1, 0, 0])
        command(0x2035, [1] + RawController.octets(address))
        command(0x2039, [1, 1, 1, 0, 0, 0])
    }

    func stopAdvertising(isExtended: Bool) {
        if isExtended { command(0x2039, [0, 0]) } else { command(0x200A, [0]) }
    }

    /// Listens, passively, to everybody.
    func listen() {
        command(0x200B, [0, 0x60, 0, 0x60, 0, 1, 0])
        command(0x200C, [1, 0])
    }

    /// Where somebody advertises from now on; nil when nobody does within three seconds.
    func nextAdvertiser() -> DeviceAddress? {
        // What was heard before this moment is read and forgotten.
        read()
        advertisers = []
        run(3_000) { !self.advertisers.isEmpty }
        return advertisers.last
    }

    /// Advertises what anybody may ask more of and nobody may connect to (ADV_SCAN_IND), and notes who asks.
    func broadcast(_ data: [UInt8], scanResponse: [UInt8]) {
        command(0x2001, [0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0])
        command(
            0x2036,
            [0, 0x12, 0, 0x20, 0, 0, 0x20, 0, 0, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 1, 0, 1, 0, 1])
        command(0x2035, [0] + RawController.octets(address))
        command(0x2037, [0, 3, 1, UInt8(data.count)] + data)
        command(0x2038, [0, 3, 1, UInt8(scanResponse.count)] + scanResponse)
        command(0x2039, [1, 1, 0, 0, 0, 0])
    }

    func disconnect() {
        guard let handle else { return }
        command(0x0406, RawController.little(handle) + [0x13])
        run(2_000) { self.handle == nil }
    }

    /// Runs the world, reading what comes, until the condition holds.
    @discardableResult
    func run(_ milliseconds: UInt64, until condition: () -> Bool = { false }) -> Bool {
        world.run(forMilliseconds: milliseconds) {
            read()
            return condition()
        }
    }

    /// With EDIV and Rand as a central of LE Secure Connections has them, unless a test says otherwise.
    func encrypt(_ ltk: Secret, rand: UInt8 = 0, ediv: UInt8 = 0) {
        guard let handle else { return }
        let key = ltk.withBytes { Array($0.reversed()) }
        command(
            0x2019, RawController.little(handle) + [rand] + [UInt8](repeating: 0, count: 7) + [ediv, 0] + key)
        run(2_000) { encryptionStatus != nil || self.handle == nil }
    }

    // MARK: Data

    /// One L2CAP PDU, cut as its controller wants it.
    func send(_ payload: [UInt8], on channel: UInt16) {
        sendRaw(RawController.little(UInt16(payload.count)) + RawController.little(channel) + payload)
    }

    /// Octets of L2CAP that may be anything.
    func sendRaw(_ octets: [UInt8]) {
        var rest = octets[...]
        var flags: UInt16 = 0
        repeat {
            fragment(Array(rest.prefix(27)), flags: flags)
            rest = rest.dropFirst(27)
            flags = 1
        } while !rest.isEmpty
    }

    func fragment(_ octets: [UInt8], flags: UInt16) {
        guard let handle else { return }
        raw.sendFragment(octets, flags: flags, on: handle)
    }

    /// Sends an ATT PDU and waits for one.
    func request(_ pdu: [UInt8], _ milliseconds: UInt64 = 2_000) -> [UInt8]? {
        let before = att.count
        send(pdu, on: Self.attributeProtocol)
        run(milliseconds) { self.att.count > before || self.handle == nil }
        return att.count > before ? att.last : nil
    }

    private func read() {
        for packet in raw.drain() {
            switch packet.first {
            case 2: take(packet)
            case 4: event(packet)
            default: break
            }
        }
    }

    private func event(_ packet: [UInt8]) {
        guard packet.count > 6 else { return }
        switch (packet[1], packet[3]) {
        case (0x3E, 0x01) where packet[4] == 0, (0x3E, 0x0A) where packet[4] == 0:
            handle = UInt16(packet[5]) | UInt16(packet[6]) << 8
        case (0x3E, 0x02) where packet.count > 12: advertisers.append(Self.address(packet[6], packet[7..<13]))
        case (0x3E, 0x13) where packet.count > 11: scanners.append(Self.address(packet[5], packet[6..<12]))
        case (0x05, _):
            handle = nil
            reason = packet[6]
        case (0x08, let status):
            encryptionStatus = status
            isEncrypted = status == 0 && packet[6] != 0
        case (0x3E, 0x05) where refusesKeys: command(0x201B, Array(packet[4...5]))
        default: break
        }
    }

    private func take(_ packet: [UInt8]) {
        if packet[2] >> 4 & 0b11 != 1 { fragments = [] }
        fragments += packet.dropFirst(5)
        guard fragments.count >= 4 else { return }
        let length = Int(fragments[0]) | Int(fragments[1]) << 8
        guard fragments.count == length + 4 else { return }
        let channel = UInt16(fragments[2]) | UInt16(fragments[3]) << 8
        received[channel, default: []].append(Array(fragments.dropFirst(4)))
    }
}
