import BluetoothCore
import HCI
import SecurityManager
import Simulation
import Testing
import VirtualRadio
import WorldSupport

@testable import BluetoothHost

/// One adapter among many.
@Suite("Many links and many wishes on one adapter", .capturesFailures)
struct CrowdTests {
    private static let crowd = 32

    private func address(_ number: Int) -> DeviceAddress {
        DeviceAddress(kind: .random, bits: 0xC0DE_0000_0000 + UInt64(number))
    }

    /// A host that wants to be connected to as many peers as there are, with a list of four.
    private func wishes(
        _ generation: ControllerGeneration, prepare: (World, [RawPeer]) -> Void = { _, _ in }
    ) throws -> (World, Node, CentralApp, [RawPeer]) {
        let world = World()
        let peers = (0..<Self.crowd).map { RawPeer(world, address: address($0)) }
        let node = world.add(
            "key", seed: 3,
            hardware: ControllerConfiguration(acceptListSize: 4, maximumLinks: Self.crowd, generation: generation))
        node.configuration.linksMaximum = Self.crowd
        var central: CentralApp?
        node.launch { central = CentralApp($0, restoreIdentifier: "pocket") }
        let app = try #require(central)
        world.run(forMilliseconds: 500) { app.states.last == .poweredOn }
        node.call { host in
            for number in 0..<Self.crowd {
                host.connect(app.manager, host.peer(at: address(number)), options: 0, askedAtSeconds: 0)
            }
        }
        prepare(world, peers)
        return (world, node, app, peers)
    }

    @Test(
        "An accept list of 4, and 32 who are wanted and there: every one is connected to",
        arguments: [
            ControllerGeneration.core54, .core40,
        ])
    func everybody(generation: ControllerGeneration) throws {
        let (world, node, app, _) = try wishes(generation) { _, peers in peers.forEach { $0.advertise() } }
        #expect(world.run(forMilliseconds: 60_000) { app.connections == Self.crowd })
        #expect(node.host?.core.links.count == Self.crowd)
        #expect(app.disconnections == 0)
    }

    @Test("Whoever comes near is connected to soon, be it the last of 32 and not in the list")
    func theLast() throws {
        let (world, _, app, peers) = try wishes(.core54)
        world.run(forMilliseconds: 5_000)
        peers[Self.crowd - 1].advertise()
        #expect(world.run(forMilliseconds: 1_000) { app.connections == 1 })
        peers[0].advertise()
        #expect(world.run(forMilliseconds: 1_000) { app.connections == 2 }, "and the first, which is in it")
    }

    @Test("32 links at once, half of them in either role, and one more finds no slot")
    func bothRoles() throws {
        let world = World()
        let node = world.add("house", seed: 3, hardware: ControllerConfiguration(maximumLinks: Self.crowd + 1))
        // One of the slots is for bonded peers, and these are strangers.
        node.configuration.linksMaximum = Self.crowd + 1
        var peripheral: PeripheralApp?
        var central: CentralApp?
        node.launch { host in
            let app = PeripheralApp(host, restoreIdentifier: "door")
            peripheral = app
            _ = try? host.publish(app.manager, PeripheralApp.definition)
            host.startAdvertising(app.manager, AdvertisingRecord(localName: "Door", services: [PeripheralApp.service]))
            central = CentralApp(host, restoreIdentifier: "pocket")
        }
        let (lock, key) = (try #require(peripheral), try #require(central))
        world.run(forMilliseconds: 500) { key.states.last == .poweredOn }
        let own = try #require(node.host?.identity.address.address)
        let half = Self.crowd / 2
        let peers = (0...Self.crowd).map { RawPeer(world, address: address($0)) }
        for number in 0..<half {
            peers[number].advertise()
            node.call { $0.connect(key.manager, $0.peer(at: address(number)), options: 0, askedAtSeconds: 0) }
            #expect(world.run(forMilliseconds: 5_000) { key.connections == number + 1 })
            #expect(peers[half + number].connect(to: own))
        }
        #expect(world.run(forMilliseconds: 2_000) { node.host?.core.links.count == Self.crowd })
        #expect(lock.links.count == half)
        // ATT_READ_BY_TYPE_REQ for the device's name, on each link to us.
        for peer in peers[half..<Self.crowd] {
            let answer = try #require(peer.request([0x08, 1, 0, 0xFF, 0xFF, 0x00, 0x2A]))
            #expect(answer.first == 0x09)
        }
        peers[Self.crowd].connect(to: own)
        world.run(forMilliseconds: 1_000) { peers[Self.crowd].reason != nil }
        #expect(node.host?.core.links.count == Self.crowd)
        #expect(lock.links.count == half)
    }
}
