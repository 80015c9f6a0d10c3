import BluetoothCore
import HCI
import SecurityManager
import Simulation
import Testing
import VirtualRadio
import WorldSupport

@testable import BluetoothHost

/// What the host does about links below L2CAP.
@Suite("Core 5.4, Vol 6, Part B, 5.1: facts of links, and links that do not end", .capturesFailures)
struct LinkFactsTests {
    private func connected() throws -> HostScenarioTests.Scene {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        return scene
    }

    private func link(_ scene: HostScenarioTests.Scene) throws -> LinkInfo {
        let door = try #require(scene.door)
        return try #require(scene.key.host?.link(of: door))
    }

    @Test("A central learns the peer's version and features once; a peripheral asks nothing")
    func learns() throws {
        let scene = try connected()
        #expect(try link(scene).facts.parameters.connectionInterval == 24)
        #expect(try link(scene).facts.parameters.supervisionTimeout == 200)
        scene.world.run(forMilliseconds: 5_000)
        let facts = try link(scene).facts
        #expect(facts.version?.core == .v5_4)
        #expect(facts.features?.contains(.encryption) == true)
        #expect(facts.txDataLength.octets == 251)
        #expect(scene.key.opcodes.count { $0 == HCILEReadRemoteFeatures.opcode.rawValue } == 1)
        #expect(scene.key.opcodes.count { $0 == HCIReadRemoteVersionInformation.opcode.rawValue } == 1)
        let asking: Set<UInt16> = [0x2016, 0x041D, 0x2022, 0x2032]
        #expect(asking.isDisjoint(with: scene.lock.opcodes))
    }

    @Test("Nothing is asked of the peer's link layer before the link has waited, encrypted or not")
    func waits() throws {
        let scene = try connected()
        #expect(!scene.key.opcodes.contains(HCILEReadRemoteFeatures.opcode.rawValue))
        try scene.pairOutOfBand()
        #expect(!scene.key.opcodes.contains(HCILEReadRemoteFeatures.opcode.rawValue))
        scene.world.run(forMilliseconds: LinkInquiry.delayMilliseconds)
        #expect(scene.key.opcodes.contains(HCILEReadRemoteFeatures.opcode.rawValue))
    }

    @Test("Events tell what changes: PHY, data length, parameters, channel selection")
    func events() throws {
        let scene = try connected()
        let handle = try #require(scene.key.handles.last)
        let (low, high) = (UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8))
        scene.key.inject([
            [4, 0x3E, 6, 0x0C, 0, low, high, 2, 3], [4, 0x3E, 11, 7, low, high, 100, 0, 0xD0, 3, 80, 0, 0x30, 3],
            [4, 0x3E, 10, 3, 0, low, high, 40, 0, 1, 0, 44, 1], [4, 0x3E, 4, 0x14, low, high, 1],
        ])
        let facts = try link(scene).facts
        #expect(facts.txPHY == .le2M)
        #expect(facts.rxPHY == .leCoded)
        #expect(facts.txDataLength == DataLength(octets: 100, microseconds: 976))
        #expect(facts.rxDataLength == DataLength(octets: 80, microseconds: 816))
        #expect(facts.parameters.connectionInterval == 40)
        #expect(facts.parameters.peripheralLatency == 1)
        #expect(facts.parameters.supervisionTimeout == 300)
        #expect(facts.channelSelection == .two)
        scene.key.inject([
            [4, 0x3E, 6, 0x0C, 0x1A, low, high, 1, 1], [4, 0x3E, 10, 3, 0x1A, low, high, 6, 0, 0, 0, 10, 0],
        ])
        #expect(try link(scene).facts == facts, "what failed changed nothing")
    }

    @Test("A controller that does not know the link which is to end has lost it: the slot is free")
    func disconnectNotKnown() throws {
        let scene = try connected()
        let app = try #require(scene.central)
        let door = try #require(scene.door)
        scene.key.wire.withholds = { $0.count > 1 && ($0[1] == 0x05 || ($0[1] == 0x0F && $0[5] == 0x06)) }
        scene.key.call { $0.cancelConnection(app.manager, door) }
        #expect(scene.key.host?.core.links.count == 1)
        scene.key.inject([[4, 0x0F, 4, 0x02, 1, 0x06, 0x04]])
        #expect(scene.key.host?.core.links.count == 0)
    }

    @Test("A link that does not end in its time is the controller's fault, and holds its slot no longer")
    func overdue() throws {
        let scene = try connected()
        let app = try #require(scene.central)
        let door = try #require(scene.door)
        scene.key.wire.withholds = { $0.count > 1 && $0[1] == 0x05 }
        scene.key.call { $0.cancelConnection(app.manager, door) }
        let states = app.states.count
        scene.world.run(forMilliseconds: LinkLifecycle.disconnectTimeoutMilliseconds - 1_000)
        #expect(app.states.count == states)
        scene.world.run(forMilliseconds: 3_000)
        #expect(Array(app.states.dropFirst(states)) == [.resetting, .poweredOn])
        #expect(scene.key.host?.core.links.count == 0)
    }

    @Test("A handle that is given away twice is the newer link, and the older one ended")
    func handleTwice() throws {
        let scene = try connected()
        let app = try #require(scene.peripheral)
        let handle = try #require(scene.lock.handles.last)
        let first = try #require(app.links.first)
        let faults = try #require(scene.lock.host).faults
        scene.lock.inject([
            [
                4, 0x3E, 19, 1, 0, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 1, 1, 9, 9, 9, 9, 9, 0xC9, 24,
                0, 0, 0, 200, 0, 0,
            ]
        ])
        #expect(app.links.count == 1)
        #expect(app.links.first?.link != first.link)
        #expect(scene.lock.host?.faults == faults + 1)
    }

    /// But for its end, which says that a link was there: `ControllerFaultTests` has that.
    @Test("Events of a handle that nobody has change nothing")
    func unknownHandle() throws {
        let scene = try connected()
        let facts = try link(scene).facts
        let sent = scene.key.sent.count
        scene.key.inject([
            [4, 0x08, 4, 0, 0x33, 0, 1], [4, 0x30, 3, 0, 0x33, 0], [4, 0x0C, 8, 0, 0x33, 0, 9, 1, 0, 1, 0],
            [4, 0x3E, 10, 3, 0, 0x33, 0, 24, 0, 0, 0, 200, 0], [4, 0x3E, 12, 4, 0, 0x33, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            [4, 0x3E, 13, 5, 0x33, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [4, 0x3E, 6, 0x0C, 0, 0x33, 0, 2, 2],
            [4, 0x3E, 4, 0x14, 0x33, 0, 1], [2, 0x33, 0x20, 5, 0, 1, 0, 4, 0, 0x0A],
        ])
        #expect(try link(scene).facts == facts)
        #expect(scene.key.host?.core.links.count == 1)
        #expect(scene.key.sent.count == sent)
    }

    @Test("Core 5.4, Vol 4, Part E, 7.8.20: a channel map is read where the controller can tell it")
    func channelMap() throws {
        let scene = try connected()
        let supports = scene.key.opcodes.contains(HCILEReadChannelMap.opcode.rawValue)
        #expect(!supports, "never by itself")
        switch try scene.read(.channelMap) {
        case .success(.channelMap(let map)):
            #expect(map.count >= 2)
            #expect(try link(scene).facts.channelMap == map)
        case .failure(.unsupportedByController): #expect(!scene.key.opcodes.contains(0x2015))
        case let other: Issue.record("\(other)")
        }
    }
}
