import BluetoothHost
import Simulation
import Testing
import WorldSupport

/// A connection that is taken back and asked for again before the old link has gone.
@Suite(.capturesFailures) struct ReconnectTests {
    @Test("A connection asked for while the old link is on its way out is a new link, and is heard of once")
    func reconnectAtOnce() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        let central = try #require(scene.central)
        let door = try #require(scene.door)
        let old = try #require(central.link?.link)
        scene.key.call { host in
            host.cancelConnection(central.manager, door)
            host.connect(central.manager, door, options: 0, askedAtSeconds: 0)
        }
        #expect(central.link == nil)
        #expect(scene.world.run(forMilliseconds: 8_000) { central.link != nil })
        #expect(central.link?.link != old)
        #expect(central.disconnections == 1)
        #expect(scene.key.store.load().restorations.values.flatMap(\.pendingConnections).count == 1)
    }
}
