import BluetoothCore
import BluetoothHost
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// Peripherals that advertise to one central alone, which is this one, or another.
@Suite("Core 5.4, Vol 3, Part C, 9.3.3: connecting to who is in the directed connectable mode", .capturesFailures)
struct DirectedAdvertisingTests {
    enum Way: CaseIterable { case lowDuty, highDuty, extended }

    private static let directed = DeviceAddress(kind: .random, bits: 0xC0DE_0000_0001)
    private static let absent = DeviceAddress(kind: .random, bits: 0xC0DE_0000_0002)

    /// A central that is on the air under its identity address, and a peer that has its own.
    private final class Scene {
        let world = World()
        let key: Node
        let app: CentralApp
        let peer: RawPeer
        let address: DeviceAddress

        init() throws {
            key = world.add("key", seed: 41)
            key.configuration.privacy = false
            var central: CentralApp?
            key.launch { central = CentralApp($0, restoreIdentifier: nil) }
            let app = try #require(central)
            self.app = app
            #expect(world.run(forMilliseconds: 500) { app.states.last == .poweredOn })
            address = try #require(key.host?.identity.address.address)
            peer = RawPeer(world, address: directed)
        }

        func want(_ addresses: [DeviceAddress]) {
            for address in addresses {
                key.call { $0.connect(app.manager, $0.peer(at: address), options: 0, askedAtSeconds: 0) }
            }
            world.run(forMilliseconds: 100)
        }

        func advertise(_ way: Way, to target: DeviceAddress) {
            switch way {
            case .lowDuty: peer.advertise(to: target, isHighDuty: false)
            case .highDuty: peer.advertise(to: target, isHighDuty: true)
            case .extended: peer.advertiseExtended(to: target)
            }
        }

        /// Whether the attempt that stands is by the accept list: Initiator_Filter_Policy of the command that was sent last.
        var connectsByAcceptList: Bool? {
            for packet in key.sent.reversed() {
                if packet.starts(with: [1, 0x43, 0x20]) { return packet[4] == 1 }
                if packet.starts(with: [1, 0x0D, 0x20]) { return packet[8] == 1 }
            }
            return nil
        }
    }

    @Test("9.3.8: by the address", arguments: Way.allCases)
    func direct(_ way: Way) throws {
        let scene = try Scene()
        scene.want([Self.directed])
        #expect(scene.connectsByAcceptList == false)
        scene.advertise(way, to: scene.address)
        #expect(scene.peer.run(1_000) { scene.app.link != nil && scene.peer.handle != nil })
        #expect(scene.app.link?.address == Self.directed)
    }

    @Test("9.3.5: by the filter accept list", arguments: Way.allCases)
    func auto(_ way: Way) throws {
        let scene = try Scene()
        scene.want([Self.absent, Self.directed])
        #expect(scene.connectsByAcceptList == true)
        scene.advertise(way, to: scene.address)
        #expect(scene.peer.run(1_000) { scene.app.link != nil && scene.peer.handle != nil })
        #expect(scene.app.link?.address == Self.directed)
    }

    @Test("9.3.6: heard by a scan, chosen, connected to", arguments: Way.allCases)
    func general(_ way: Way) throws {
        let scene = try Scene()
        scene.key.call { $0.startScan(scene.app.manager, ScanRecord(services: [], allowDuplicates: false)) }
        scene.world.run(forMilliseconds: 100)
        scene.advertise(way, to: scene.address)
        #expect(scene.peer.run(1_000) { !scene.app.reports.isEmpty })
        let report = try #require(scene.app.reports.first)
        #expect(report.isConnectable && report.address == Self.directed)
        #expect(report.services.isEmpty && report.localName == nil, "it has no place for data")
        scene.key.call { $0.connect(scene.app.manager, report.peer, options: 0, askedAtSeconds: 0) }
        #expect(scene.peer.run(1_000) { scene.app.link?.peer == report.peer && scene.peer.handle != nil })
    }

    @Test("Who advertises to another central is not reported, and takes no connection", arguments: Way.allCases)
    func anotherCentral(_ way: Way) throws {
        let scene = try Scene()
        scene.want([Self.directed])
        scene.key.call { $0.startScan(scene.app.manager, ScanRecord(services: [], allowDuplicates: false)) }
        scene.advertise(way, to: Self.absent)
        scene.peer.run(1_200)
        #expect(scene.app.reports.isEmpty && scene.app.link == nil && scene.peer.handle == nil)
        // The attempt stands, and takes the same peer when it means this side.
        scene.peer.stopAdvertising(isExtended: way == .extended)
        scene.advertise(way, to: scene.address)
        #expect(scene.peer.run(1_000) { scene.app.link != nil })
    }
}
