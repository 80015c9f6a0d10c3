import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import Glibc
import HCI
import SecurityManager
import TestSupport
import Testing

@testable import HCITransport

/// What left and what was committed, in order.
private final class Log {
    private(set) var entries: [String] = []
    func note(_ entry: String) { entries.append(entry) }
}

/// What an app keeps in the host's transaction.
private final class Diary: CommitParticipant {
    private(set) var hasPending = false
    func write() { hasPending = true }
    func writePending() {}
    func didCommit() { hasPending = false }
}

/// Notes each commit, and before it what has left by then.
private final class NotingCoordinator: TransactionCoordinator {
    private let coordinator = MemoryTransactionCoordinator()
    var onCommit: ([any CommitParticipant]) -> Void = { _ in }

    func commit(_ participants: [any CommitParticipant]) throws {
        onCommit(participants)
        try coordinator.commit(participants)
    }
}

/// Stands in for entropy.
private struct Counting: RandomSource {
    private var next: UInt8 = 1

    mutating func appendOctets(_ count: Int, to octets: inout [UInt8]) {
        for _ in 0..<count {
            octets.append(next)
            next = next &* 5 &+ 3
        }
    }
}

/// A central app that keeps a word of each write that was late.
private final class LateWriter: CentralRoleDelegate {
    private(set) var manager = ManagerID(rawValue: 0)
    var onPoweredOn: () -> Void = {}
    var onConnected: (PeerIdentifier) -> Void = { _ in }
    var onLapsed: () -> Void = {}

    init(_ host: Host) { manager = host.registerCentral(restoreIdentifier: "writer", delegate: self).0 }

    func hostStateChanged(_ state: HostState) { if state == .poweredOn { onPoweredOn() } }
    func connected(_ link: LinkInfo) { onConnected(link.peer) }
    func writeLapsed(_ token: OperationToken, peer: PeerIdentifier) { onLapsed() }
    func discovered(_ report: AdvertisementReport) {}
    func mtuChanged(_ link: LinkInfo) {}
    func connectionFailed(_ peer: PeerIdentifier, error: HostError) {}
    func disconnected(_ peer: PeerIdentifier, error: HostError?, isReconnecting: Bool) {}
    func completed(_ token: OperationToken, peer: PeerIdentifier, result: Result<OperationValue, HostError>) {}
    func valueUpdated(_ peer: PeerIdentifier, handle: AttributeHandle, value: [UInt8], isIndication: Bool) {}
    func servicesInvalidated(_ peer: PeerIdentifier, first: AttributeHandle, last: AttributeHandle) {}
    func securityChanged(_ link: LinkInfo, error: HostError?) {}
    func passkeyRequested(_ peer: PeerIdentifier) {}
    func displayPasskey(_ peer: PeerIdentifier, passkey: UInt32) {}
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) {}
    func paired(_ peer: PeerIdentifier, result: Result<BondID, HostError>) {}
}

/// A controller of Core 4.2 with one buffer, at the far end of a socket. Whoever is asked for is there.
private final class SmallController {
    private let end: OwnedDescriptor
    private var octets: [UInt8] = []
    /// The value of each Write Command that reached it.
    var onWrite: (UInt8) -> Void = { _ in }

    init(_ end: consuming OwnedDescriptor) throws {
        let isNonblocking = end.makeNonblocking()
        try #require(isNonblocking)
        self.end = end
    }

    var descriptor: Int32 { end.rawValue }

    /// Takes what has come, and answers.
    func serve() {
        octets += end.get()
        while let packet = nextPacket() { take(packet) }
    }

    private func nextPacket() -> [UInt8]? {
        let headerOctets = octets.first == 2 ? 5 : 4
        guard octets.count >= headerOctets else { return nil }
        let length = headerOctets + Int(octets[3])
        guard octets.count >= length else { return nil }
        defer { octets.removeFirst(length) }
        return Array(octets.prefix(length))
    }

    private func take(_ packet: [UInt8]) {
        guard packet[0] == 1 else {
            // Write Command, on the attribute channel.
            if packet.count == 13, packet[9] == 0x52 { onWrite(packet[12]) }
            return say([0x13, 5, 1, packet[1], packet[2] & 0x0F, 1, 0])
        }
        let opcode = UInt16(packet[1]) | UInt16(packet[2]) << 8
        switch opcode {
        // LE Create Connection, to an address: with a link, as central.
        case 0x200D:
            say([0x0F, 4, 0, 1, packet[1], packet[2]])
            say([0x3E, 19, 1, 0, 0x40, 0, 0] + packet[9..<16] + [24, 0, 0, 0, 200, 0, 0])
        // LE Read Remote Features, Read Remote Version Information.
        case 0x2016, 0x041D: say([0x0F, 4, 0, 1, packet[1], packet[2]])
        default: say([0x0E, UInt8(4 + returned(opcode).count), 1, packet[1], packet[2], 0] + returned(opcode))
        }
    }

    /// Return parameters behind the status.
    private func returned(_ opcode: UInt16) -> [UInt8] {
        switch opcode {
        case 0x1001: [8, 0, 0, 8, 0xFF, 0xFF, 0, 0]
        case 0x1002: [UInt8](repeating: 0, count: 64)
        // LE Supported (Controller)
        case 0x1003: [0, 0, 0, 0, 0x40, 0, 0, 0]
        case 0x1009: [1, 2, 3, 4, 5, 6]
        case 0x2002: [27, 0, 1]
        case 0x2003: [UInt8](repeating: 0, count: 8)
        case 0x200F: [8]
        default: []
        }
    }

    /// A word about nothing: commands may be sent.
    func chatter() { say([0x0E, 3, 1, 0, 0]) }

    private func say(_ event: [UInt8]) {
        let packet = [4] + event
        _ = write(end.rawValue, packet, packet.count)
    }
}

/// A host on a loop of its own, and the controller at the far end of its socket.
private final class Rig {
    let far: SmallController
    let loop: EventLoop
    let connection: ControllerConnection
    let host: Host
    let driver: HostDriver

    init(
        _ configuration: HostConfiguration, coordinator: any TransactionCoordinator = MemoryTransactionCoordinator()
    ) throws {
        let ends = try makeSocketPair()
        far = try SmallController(OwnedDescriptor(ends.0))
        let stream = HCIStream(try Transport.open(.inherited(ends.1)))
        loop = try EventLoop(signals: [])
        connection = ControllerConnection(.success(stream), name: "pair", canReopen: false, loop: loop) {
            () throws(TransportError) in throw TransportError(.notFound, "there is one")
        }
        let store = MemoryHostStore()
        host = Host(
            configuration: configuration, boot: BootID(bits: 1), snapshot: store.load(), store: store,
            random: Counting(), makeKeyPair: P256KeyPair.generate)
        driver = HostDriver(host: host, loop: loop, air: .controller(connection), coordinator: coordinator)
    }
}

@Suite("A host on its loop")
struct HostDriverTests {
    @Test("A packet that is dropped as late: what follows from that is committed, and then leaves, in the same pass")
    func beforeTheNextCommit() throws {
        let log = Log()
        let diary = Diary()
        let coordinator = NotingCoordinator()
        var configuration = HostConfiguration(deviceName: "late", mtu: 23)
        configuration.privacy = false
        let rig = try Rig(configuration, coordinator: coordinator)
        let (host, loop, far, driver) = (rig.host, rig.loop, rig.far, rig.driver)
        host.join(diary)
        let app = LateWriter(host)
        far.onWrite = { log.note("write \($0)") }
        coordinator.onCommit = { _ in
            // Whatever was let go is there before the commit is.
            rig.connection.flush()
            far.serve()
            log.note(diary.hasPending ? "commit of the word" : "commit")
        }
        app.onPoweredOn = {
            let peer = host.peer(at: DeviceAddress(kind: .random, bits: 0xC000_0000_0001))
            host.connect(app.manager, peer, options: 0, askedAtSeconds: 0)
        }
        app.onConnected = { peer in
            // The first has the controller's one buffer, and no time.
            _ = host.perform(app.manager, peer, .writeWithoutResponse(AttributeHandle(1), [1]), until: host.now)
            _ = host.perform(app.manager, peer, .writeWithoutResponse(AttributeHandle(1), [2]))
        }
        app.onLapsed = {
            log.note("lapsed")
            diary.write()
        }
        driver.onIdle = {
            far.serve()
            if log.entries.contains("lapsed") { driver.stop() }
        }
        _ = try loop.register(far.descriptor, .readable) { _ in far.serve() }
        try driver.run()
        #expect(log.entries.drop { $0 != "lapsed" } == ["lapsed", "commit of the word", "write 2"])
        #expect(!log.entries.contains("write 1"))
    }

    @Test("What can wait is done one slice at a time, behind the radio's last word, and ends")
    func idleWork() throws {
        let log = Log()
        let rig = try Rig(HostConfiguration(deviceName: "idle"))
        let (host, loop, far, driver) = (rig.host, rig.loop, rig.far, rig.driver)
        let diary = Diary()
        host.join(diary)
        let app = LateWriter(host)
        app.onPoweredOn = { log.note("on") }
        var slices = 0
        driver.idleWork = {
            slices += 1
            log.note("slice \(slices)")
            // What a slice wants kept is committed before the next.
            #expect(!diary.hasPending)
            diary.write()
            if slices == 3 { driver.stop() }
            return slices < 3 ? .more : .over
        }
        driver.onIdle = { far.serve() }
        _ = try loop.register(far.descriptor, .readable) { _ in far.serve() }
        try driver.run()
        #expect(!diary.hasPending)
        #expect(log.entries == ["on", "slice 1", "slice 2", "slice 3"])
        #expect(driver.idleWork == nil)
    }

    @Test("A slice that somebody else keeps from its work is tried again at its pace, not at once")
    func heldWork() throws {
        let rig = try Rig(HostConfiguration(deviceName: "held"))
        let (host, loop, far, driver) = (rig.host, rig.loop, rig.far, rig.driver)
        var begun: [Instant] = []
        driver.idleWork = {
            begun.append(host.now)
            if begun.count == 4 { driver.stop() }
            return begun.count < 4 ? .held : .over
        }
        driver.onIdle = { far.serve() }
        _ = try loop.register(far.descriptor, .readable) { _ in far.serve() }
        try driver.run()
        #expect(begun.count == 4)
        // A packet of the controller's may bring the second forward; behind it the radio is quiet.
        for (earlier, later) in zip(begun, begun.dropFirst()).dropFirst() {
            #expect(later.milliseconds(since: earlier) >= HostDriver.sliceIntervalMaximumMilliseconds)
        }
        #expect(driver.idleWork == nil)
    }

    @Test("A radio that is never quiet keeps nothing from being done for good")
    func busyRadio() throws {
        let rig = try Rig(HostConfiguration(deviceName: "busy"))
        let (host, far, driver) = (rig.host, rig.far, rig.driver)
        var begun: [Instant] = []
        driver.idleWork = {
            begun.append(host.now)
            if begun.count == 3 { driver.stop() }
            return .more
        }
        driver.onIdle = {
            far.serve()
            far.chatter()
        }
        try driver.run()
        for (earlier, later) in zip(begun, begun.dropFirst()) {
            #expect(later.milliseconds(since: earlier) >= HostDriver.sliceIntervalMaximumMilliseconds)
        }
    }

    @Test(
        "Housekeeping waits for a quiet radio, a while, each time that it is due, and comes back when it is due again")
    func housekeeping() throws {
        let rig = try Rig(HostConfiguration(deviceName: "kept"))
        let (loop, far, driver) = (rig.loop, rig.far, rig.driver)
        var (isDue, changed, waited) = (false, SystemClock.now(), [UInt64]())
        driver.housekeeping = (
            { isDue },
            {
                waited.append(SystemClock.now().milliseconds(since: changed))
                (isDue, changed) = (false, SystemClock.now())
                if waited.count == 3 { driver.stop() }
            }
        )
        // A radio that is never quiet, and work that becomes due long after the last was done.
        driver.onIdle = {
            far.serve()
            let now = SystemClock.now()
            if !isDue, now.milliseconds(since: changed) > 2 * HostDriver.sliceIntervalMaximumMilliseconds {
                (isDue, changed) = (true, now)
            }
            far.chatter()
        }
        _ = try loop.register(far.descriptor, .readable) { _ in far.serve() }
        try driver.run()
        #expect(waited.allSatisfy { $0 >= HostDriver.sliceIntervalMaximumMilliseconds }, "\(waited)")
    }
}
