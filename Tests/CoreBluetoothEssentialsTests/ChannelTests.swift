import BluetoothCore
import BluetoothHost
import Dispatch
import FoundationEssentials
import GATT
import L2CAP
import Simulation
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

/// A stream's end, held by an app that reads everything at once unless it is told not to.
private final class Stream: CBL2CAPChannelDelegate, @unchecked Sendable {
    let channel: CBL2CAPChannel
    private(set) var octets = Data()
    private(set) var spaceCalls = 0
    private(set) var ends: [(any Error)?] = []
    var reads = true

    init(_ channel: CBL2CAPChannel) {
        self.channel = channel
        channel.delegate = self
    }

    func channelHasBytesAvailable(_ channel: CBL2CAPChannel) { if reads { drain() } }
    func channelHasSpaceAvailable(_ channel: CBL2CAPChannel) { spaceCalls += 1 }
    func channelDidClose(_ channel: CBL2CAPChannel, error: (any Error)?) { ends.append(error) }

    func drain() {
        while channel.hasBytesAvailable { octets += channel.read(maxLength: 100) }
    }
}

/// Publishes services, and holds the channels that come.
private final class ChannelDoor: CBPeripheralManagerCallbacks, @unchecked Sendable {
    private(set) var manager: CBPeripheralManager?
    private(set) var psms: [CBL2CAPPSM] = []
    private(set) var unpublished: [(CBL2CAPPSM, Bool)] = []
    var streams: [Stream] = []
    private(set) var opened = 0
    var holds = true

    init(_ host: CBHost) {
        manager = CBPeripheralManager(callbacks: self, delivery: .inline, host: host)
    }

    func vanish() { manager = nil }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Door.service]])
        peripheral.publishL2CAPChannel(withEncryption: false)
        peripheral.publishL2CAPChannel(withEncryption: true)
    }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) { if error == nil { psms.append(PSM) } }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) { unpublished.append((PSM, error == nil)) }
    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        opened += 1
        if holds, let channel { streams.append(Stream(channel)) }
    }
}

/// Connects to the first door and opens what it is told to.
private final class ChannelKey: CBCentralManagerCallbacks, CBPeripheralCallbacks, @unchecked Sendable {
    private(set) var manager: CBCentralManager?
    private(set) var door: CBPeripheral?
    private(set) var isConnected = false
    var streams: [Stream] = []
    private(set) var errors: [any Error] = []

    init(_ host: CBHost) { manager = CBCentralManager(callbacks: self, delivery: .inline, host: host) }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn { central.scanForPeripherals(withServices: [Door.service]) }
    }
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        guard door == nil else { return }
        door = peripheral
        peripheral.callbacks = self
        central.stopScan()
        central.connect(peripheral)
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { isConnected = true }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) { isConnected = false }
    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        if let error { errors.append(error) }
        if let channel { streams.append(Stream(channel)) }
    }
}

@Suite("Apple's L2CAP channels", .capturesFailures)
struct ChannelTests {
    private final class ChannelScene {
        let world = World()
        let lock: Node
        let pocket: Node
        var door: ChannelDoor?
        var key: ChannelKey?

        init() throws {
            lock = world.add("lock", seed: 11)
            pocket = world.add("key", seed: 22)
            lock.launchApp { door = ChannelDoor($0) }
            pocket.launchApp { key = ChannelKey($0) }
            try #require(world.run { key?.isConnected == true && door?.psms.count == 2 })
        }

        /// The two ends of a new channel.
        func open() throws -> (key: Stream, door: Stream) {
            let key = try #require(key)
            let door = try #require(door)
            let before = (key.streams.count, door.streams.count)
            key.door?.openL2CAPChannel(door.psms[0])
            try #require(world.run { key.streams.count > before.0 && door.streams.count > before.1 })
            return (try #require(key.streams.last), try #require(door.streams.last))
        }
    }

    @Test("A channel is opened to a published PSM, and octets go both ways in their order")
    func bothWays() throws {
        let scene = try ChannelScene()
        let (key, door) = try scene.open()
        let psm = try #require(scene.door?.psms.first)
        #expect((0x80...0xFF).contains(psm) && key.channel.psm == psm && door.channel.psm == psm)
        #expect(key.channel.peer === scene.key?.door)
        #expect(key.channel.hasSpaceAvailable && !key.channel.hasBytesAvailable && key.channel.isOpen)
        let data = Data((0..<9_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        #expect(key.channel.write(data) == data.count)
        #expect(door.channel.write(data) == data.count)
        #expect(scene.world.run { key.octets.count == data.count && door.octets.count == data.count })
        #expect(key.octets == data && door.octets == data)
    }

    @Test("A write is taken as far as there is room, and the app hears once when there is more")
    func backPressure() throws {
        let scene = try ChannelScene()
        let (key, door) = try scene.open()
        door.reads = false
        var sent = 0
        let chunk = Data(repeating: 5, count: 5_000)
        while true {
            let taken = key.channel.write(chunk)
            sent += taken
            if taken < chunk.count { break }
        }
        #expect(!key.channel.hasSpaceAvailable && key.channel.write(chunk) == 0)
        scene.world.run(forMilliseconds: 60_000) { false }
        #expect(key.spaceCalls == 0 && door.octets.isEmpty && door.channel.hasBytesAvailable)
        door.reads = true
        door.drain()
        #expect(scene.world.run(forMilliseconds: 120_000) { door.octets.count == sent })
        #expect(key.spaceCalls == 1 && key.channel.hasSpaceAvailable)
    }

    @Test("What was written before the channel was closed arrives; each side hears once that it ended")
    func closes() throws {
        let scene = try ChannelScene()
        let (key, door) = try scene.open()
        let data = Data((0..<16_000).map { UInt8(truncatingIfNeeded: $0) })
        #expect(key.channel.write(data) == data.count)
        key.channel.close()
        #expect(key.channel.write(data) == 0)
        #expect(scene.world.run(forMilliseconds: 60_000) { !door.ends.isEmpty && !key.ends.isEmpty })
        scene.world.run(forMilliseconds: 40_000) { false }
        #expect(door.octets == data)
        #expect(door.ends.count == 1 && key.ends.count == 1 && door.ends[0] == nil && key.ends[0] == nil)
        #expect(!door.channel.isOpen && !key.channel.isOpen && !key.channel.hasSpaceAvailable)
    }

    /// A loop that is busy elsewhere: what is posted to it does not run.
    private final class BusyLoop: HostExecutor {
        var isOnLoop: Bool { false }
        func join() -> Host? { nil }
        func execute(_ body: @escaping @Sendable (Host) -> Void) {}
    }

    @Test("Octets that the host has not taken: as many as there is room for, and not one more")
    func outgoingBound() {
        let pipe = ChannelPipe(
            HostChannelID(link: LinkID(rawValue: 1), number: 1), sduOctetsMaximum: 2_048, handle: CBHost(BusyLoop()),
            delivery: .inline, host: nil)
        let most = [UInt8](repeating: 1, count: ChannelPipe.outgoingOctetsMaximum - 1)
        #expect(pipe.write(most) == most.count)
        #expect(pipe.write([2, 3]) == 1)
        #expect(pipe.write([3]) == 0)
    }

    @Test("Attack: a peer that reads nothing holds a channel that its app has closed for thirty seconds, and no longer")
    func closedUnread() throws {
        let scene = try ChannelScene()
        let (key, door) = try scene.open()
        door.reads = false
        let chunk = Data(repeating: 5, count: 5_000)
        // Until the peer's credits are used up, and the host and the channel are full.
        var isFull = false
        while !isFull {
            let taken = key.channel.write(chunk)
            isFull = taken == 0
            scene.world.run(forMilliseconds: 5_000) { false }
        }
        key.channel.close()
        scene.world.run(forMilliseconds: ChannelPipe.flushTimeoutMilliseconds - 1) { false }
        #expect(key.ends.isEmpty)
        scene.world.run(forMilliseconds: 1) { false }
        #expect(key.ends.count == 1)
        // Then what the host had taken has as long again.
        scene.world.run(forMilliseconds: CreditBasedChannel.drainTimeoutMilliseconds - 1_000) { false }
        #expect(door.ends.isEmpty)
        #expect(scene.world.run(forMilliseconds: 2_000) { door.ends.count == 1 })
        let another = try scene.open()
        #expect(another.key.channel.isOpen)
    }

    @Test("What has arrived before the end can be read after it")
    func readsAfterEnd() throws {
        let scene = try ChannelScene()
        let (key, door) = try scene.open()
        door.reads = false
        #expect(key.channel.write(Data([1, 2, 3])) == 3)
        key.channel.close()
        #expect(scene.world.run { !door.ends.isEmpty })
        #expect(door.channel.read(maxLength: 2) == Data([1, 2]))
        #expect(door.channel.read(maxLength: 0) == Data() && door.channel.read(maxLength: -1) == Data())
        #expect(door.channel.read(maxLength: 9) == Data([3]) && !door.channel.hasBytesAvailable)
    }

    @Test("A channel that nobody holds is closed")
    func dropped() throws {
        let scene = try ChannelScene()
        var (key, door): (Stream?, Stream) = try scene.open()
        #expect(key != nil)
        scene.key?.streams = []
        key = nil
        #expect(scene.world.run { !door.ends.isEmpty })
        scene.door?.holds = false
        scene.key?.door?.openL2CAPChannel(try #require(scene.door?.psms.first))
        #expect(scene.world.run { scene.key?.streams.first?.ends.count == 1 })
        #expect(scene.door?.opened == 2)
    }

    @Test("Encryption that is missing, a PSM that nobody has and one that none can have are told in Apple's terms")
    func refusals() throws {
        let scene = try ChannelScene()
        let key = try #require(scene.key)
        let door = try #require(scene.door)
        for psm in [door.psms[1], 0x00F0, 0x0100, 0] { key.door?.openL2CAPChannel(psm) }
        #expect(scene.world.run { key.errors.count == 4 })
        let codes = key.errors.map {
            ($0 as? CBATTError)?.code.rawValue ?? 100 + (($0 as? CBError)?.code.rawValue ?? 0)
        }
        #expect(
            Set(codes) == [
                CBATTError.Code.insufficientAuthentication.rawValue, 100 + CBError.Code.operationNotSupported.rawValue,
                100 + CBError.Code.invalidParameters.rawValue,
            ])
        #expect(key.streams.isEmpty && door.streams.isEmpty)
    }

    @Test("A PSM that is taken back opens nothing more; what is open stays; one that is not there is an error")
    func unpublishes() throws {
        let scene = try ChannelScene()
        let (key, door) = try scene.open()
        let psm = try #require(scene.door?.psms.first)
        scene.door?.manager?.unpublishL2CAPChannel(psm)
        scene.door?.manager?.unpublishL2CAPChannel(psm)
        scene.world.settle()
        #expect(scene.door?.unpublished.map(\.0) == [psm, psm] && scene.door?.unpublished.map(\.1) == [true, false])
        scene.key?.door?.openL2CAPChannel(psm)
        #expect(scene.world.run { scene.key?.errors.count == 1 })
        #expect(key.channel.write(Data([4])) == 1)
        #expect(scene.world.run { door.octets == Data([4]) })
    }

    @Test("A lost link ends a channel once, with the reason; a peripheral that is not connected opens none")
    func linkLost() throws {
        let scene = try ChannelScene()
        let (key, door) = try scene.open()
        scene.lock.kill()
        scene.door?.vanish()
        #expect(scene.world.run(forMilliseconds: 30_000) { !key.ends.isEmpty })
        #expect(key.ends.count == 1 && (key.ends[0] as? CBError)?.code == .connectionTimeout)
        #expect(door.ends.isEmpty)
        #expect(scene.world.run { scene.key?.isConnected == false })
        scene.key?.door?.openL2CAPChannel(0x80)
        #expect(scene.world.run { scene.key?.errors.count == 1 })
        #expect((scene.key?.errors.first as? CBError)?.code == .notConnected)
    }
}
