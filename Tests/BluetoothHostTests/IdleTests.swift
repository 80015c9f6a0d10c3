import BluetoothCore
import HCI
import Simulation
import Testing
import VirtualRadio
import WorldSupport

@testable import BluetoothHost

/// A key in a pocket, for most of its life.
@Suite("A hundred peers that are wanted and not there", .capturesFailures)
struct IdleTests {
    private static let count = 100

    /// A host that has asked its controller for all that is wanted. With so many places in the accept list they all fit it, or a scan finds
    /// the others.
    private func idle(
        _ generation: ControllerGeneration, acceptList: UInt8
    ) throws -> (World, Node, CentralApp) {
        let world = World()
        let node = world.add(
            "key", seed: 3,
            hardware: ControllerConfiguration(acceptListSize: acceptList, generation: generation))
        var central: CentralApp?
        node.launch { central = CentralApp($0, restoreIdentifier: "pocket") }
        let app = try #require(central)
        try #require(world.run(forMilliseconds: 5_000) { app.states.last == .poweredOn })
        node.call { host in
            for number in 0..<Self.count {
                let address = DeviceAddress(kind: .random, bits: 0xC0DE_0000_0000 + UInt64(number))
                host.connect(app.manager, host.peer(at: address), options: 0, askedAtSeconds: 0)
            }
        }
        world.run(forMilliseconds: 60_000)
        return (world, node, app)
    }

    private static let hourMilliseconds: UInt64 = 3_600_000

    @Test(
        "An hour costs no packet, no fact to keep and no timer",
        arguments: [ControllerGeneration.core54, .core40], [UInt8(16), 128])
    func silent(generation: ControllerGeneration, acceptList: UInt8) throws {
        let (world, node, app) = try idle(generation, acceptList: acceptList)
        let (packets, facts, acts) = (node.sent.count, node.facts, node.actCount)
        #expect(packets > 0 && facts >= Self.count && node.host?.deadline == nil)
        world.run(forMilliseconds: Self.hourMilliseconds)
        #expect(node.sent.count == packets && node.facts == facts && node.actCount == acts)
        #expect(node.host?.deadline == nil && app.connections == 0)
    }
}
