import BluetoothCore
import BluetoothHost
import GATT
import HCI
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// Whoever opens or publishes channels: reads at once what comes, unless told to keep it, and writes everything down.
final class ChannelApp: ChannelDelegate {
    let host: Host
    var reads = true
    private(set) var opened: [ChannelInfo] = []
    private(set) var received: [HostChannelID: [[UInt8]]] = [:]
    private(set) var closed: [HostChannelID: [ChannelEnd]] = [:]
    private(set) var roomCalls = 0

    init(_ host: Host) { self.host = host }

    func channelOpened(_ channel: ChannelInfo) { opened.append(channel) }
    func received(_ sdu: [UInt8], on channel: HostChannelID) {
        received[channel, default: []].append(sdu)
        if reads { host.consumed(sdu.count, of: channel) }
    }
    func channelHasRoom(_ channel: HostChannelID) { roomCalls += 1 }
    func channelClosed(_ channel: HostChannelID, reason: ChannelEnd) { closed[channel, default: []].append(reason) }

    var octets: [UInt8] { received.values.flatMap { $0.flatMap { $0 } } }
}

/// Two hosts with an app each, connected; the lock's app takes channels.
final class ChannelScene {
    let scene = HostScenarioTests.Scene()
    let server: ChannelApp
    let client: ChannelApp
    private(set) var psm: UInt16 = 0
    let keyLink: LinkID

    init(encrypted: Bool = false, authenticated: Bool = false, authorized: Bool = false) throws {
        scene.start()
        server = ChannelApp(try #require(scene.lock.host))
        client = ChannelApp(try #require(scene.key.host))
        try scene.connect()
        keyLink = try #require(scene.central?.link?.link)
        let manager = try #require(scene.peripheral?.manager)
        var published: UInt16?
        scene.lock.call { [server] in
            published = try? $0.publishChannel(
                manager, encrypted: encrypted, authenticated: authenticated, authorized: authorized, delegate: server)
        }
        psm = try #require(published)
    }

    var world: World { scene.world }
    var key: Node { scene.key }
    var lock: Node { scene.lock }

    func open(psm: UInt16? = nil) throws -> HostChannelID {
        let manager = try #require(scene.central?.manager)
        var id: HostChannelID?
        key.call { [client, keyLink] in
            id = try? $0.openChannel(manager, on: keyLink, psm: psm ?? self.psm, delegate: client)
        }
        return try #require(id)
    }

    /// A channel that is open on both sides: the client's name of it, and the server's.
    func opened() throws -> (client: HostChannelID, server: HostChannelID) {
        let before = server.opened.count
        let id = try open()
        #expect(world.run(forMilliseconds: 3_000) { self.client.opened.contains { $0.id == id } })
        #expect(server.opened.count == before + 1)
        return (id, try #require(server.opened.last?.id))
    }
}

@Suite("Credit-based channels between two hosts", .capturesFailures)
struct ChannelScenarioTests {
    @Test("Octets go both ways, of any length, in their order, and the end reaches both sides once")
    func bothWays() throws {
        let scene = try ChannelScene()
        let (client, server) = try scene.opened()
        #expect(scene.client.opened.first?.psm == scene.psm && scene.server.opened.first?.psm == scene.psm)
        let sdus = [[], [1], [UInt8](repeating: 2, count: 2048), [UInt8](repeating: 3, count: 245)]
        for sdu in sdus {
            scene.key.call { #expect($0.send(sdu, on: client) == .taken) }
            scene.lock.call { #expect($0.send(sdu, on: server) == .taken) }
        }
        #expect(
            scene.world.run(forMilliseconds: 20_000) {
                scene.server.received[server]?.count == 4 && scene.client.received[client]?.count == 4
            })
        #expect(scene.server.received[server] == sdus)
        #expect(scene.client.received[client] == sdus)
        scene.key.call { #expect($0.send([UInt8](repeating: 0, count: 2049), on: client) == .tooLong) }
        scene.lock.call { $0.closeChannel(server) }
        scene.world.run(forMilliseconds: 3_000)
        #expect(scene.server.closed[server] == [.local])
        #expect(scene.client.closed[client] == [.peer])
        scene.key.call { #expect($0.send([1], on: client) == .closed) }
    }

    @Test("What is sent before a channel is closed arrives before it is")
    func closesBehindData() throws {
        let scene = try ChannelScene()
        let (client, server) = try scene.opened()
        let data = (0..<20_000).map { UInt8(truncatingIfNeeded: $0) }
        scene.key.call { host in
            for start in stride(from: 0, to: data.count, by: 2000) {
                #expect(host.send(Array(data[start..<start + 2000]), on: client) == .taken)
            }
            host.closeChannel(client)
        }
        #expect(scene.client.closed[client] == [.local])
        #expect(scene.world.run(forMilliseconds: 60_000) { scene.server.closed[server] != nil })
        #expect(scene.server.closed[server] == [.peer])
        #expect(scene.server.octets == data)
    }

    @Test("A service that nobody offers, or no longer, is refused; what it had opened stays")
    func unpublished() throws {
        let scene = try ChannelScene()
        let (client, server) = try scene.opened()
        let manager = try #require(scene.scene.peripheral?.manager)
        scene.lock.call { #expect($0.unpublishChannel(manager, psm: scene.psm)) }
        scene.lock.call { #expect(!$0.unpublishChannel(manager, psm: scene.psm)) }
        let refused = try scene.open()
        #expect(scene.world.run(forMilliseconds: 3_000) { scene.client.closed[refused] != nil })
        #expect(scene.client.closed[refused] == [.notSupported])
        scene.key.call { #expect($0.send([7], on: client) == .taken) }
        #expect(scene.world.run(forMilliseconds: 3_000) { scene.server.received[server] == [[7]] })
    }

    @Test("What a service demands of the link, before and after pairing")
    func security() throws {
        let scene = try ChannelScene(encrypted: true, authenticated: true, authorized: true)
        let refused = try scene.open()
        #expect(scene.world.run(forMilliseconds: 3_000) { scene.client.closed[refused] != nil })
        #expect(scene.client.closed[refused] == [.insufficientAuthentication])
        #expect(scene.server.opened.isEmpty)
        try scene.scene.pairOutOfBand()
        _ = try scene.opened()
    }

    @Test("A lost link ends every channel once, whatever it was doing")
    func linkLost() throws {
        let scene = try ChannelScene()
        let (client, server) = try scene.opened()
        scene.key.call { host in
            _ = host.send([UInt8](repeating: 1, count: 2048), on: client)
        }
        let asked = try scene.open()
        scene.scene.dropLink()
        scene.world.run(forMilliseconds: 40_000)
        #expect(scene.client.closed[client]?.count == 1)
        #expect(scene.client.closed[asked]?.count == 1)
        #expect(scene.server.closed[server]?.count == 1)
        scene.key.call { #expect($0.send([1], on: client) == .closed) }
        scene.key.call { $0.closeChannel(client) }
        #expect(scene.client.closed[client]?.count == 1)
    }

    @Test("A host that is killed and one whose controller fails end the other's channels, and their own")
    func controllerLost() throws {
        let scene = try ChannelScene()
        let (client, server) = try scene.opened()
        scene.key.inject([[4, 0x10, 1, 0]])
        guard case .disconnected(.hardwareFailure)? = scene.client.closed[client]?.first else {
            Issue.record("\(String(describing: scene.client.closed[client]))")
            return
        }
        #expect(scene.world.run(forMilliseconds: 10_000) { scene.server.closed[server] != nil })
        #expect(scene.server.closed[server]?.count == 1)
    }

    @Test("What a manager opened and offers ends with it")
    func managerEnds() throws {
        let scene = try ChannelScene()
        let (client, server) = try scene.opened()
        let manager = try #require(scene.scene.peripheral?.manager)
        scene.lock.call { $0.unregister(manager) }
        #expect(scene.server.closed[server] == [.local])
        #expect(scene.world.run(forMilliseconds: 3_000) { scene.client.closed[client] == [.peer] })
        let refused = try scene.open()
        #expect(scene.world.run(forMilliseconds: 3_000) { scene.client.closed[refused] == [.notSupported] })
    }

    @Test("An app that does not read stops its peer at the window, and a reading one starts it again")
    func backPressure() throws {
        let scene = try ChannelScene()
        let (client, server) = try scene.opened()
        scene.server.reads = false
        var sent = 0
        func fill() {
            scene.key.call { host in
                while host.send([UInt8](repeating: 5, count: 1000), on: client) == .taken { sent += 1000 }
            }
        }
        fill()
        #expect(sent > 60_000)
        scene.world.run(forMilliseconds: 60_000)
        #expect(scene.server.octets.count <= 16_384 && scene.server.octets.count > 14_000)
        #expect(scene.client.roomCalls == 0)
        scene.server.reads = true
        scene.lock.call { $0.consumed(scene.server.octets.count, of: server) }
        #expect(scene.world.run(forMilliseconds: 120_000) { scene.server.octets.count == sent })
        #expect(scene.client.roomCalls == 1)
    }

    @Test("A busy channel keeps neither ATT on its own link waiting, nor anybody on another")
    func fairness() throws {
        let scene = try ChannelScene()
        let (client, server) = try scene.opened()
        func fill() {
            scene.key.call { while $0.send([UInt8](repeating: 5, count: 2000), on: client) == .taken {} }
            scene.lock.call { while $0.send([UInt8](repeating: 5, count: 2000), on: server) == .taken {} }
        }
        fill()
        let bystander = RawPeer(scene.world, address: DeviceAddress(kind: .random, bits: 0xC0DE_0000_0001))
        let address = try #require(scene.lock.host?.identity.address.address)
        let advertising = AdvertisingRecord(localName: "Door", services: [PeripheralApp.service])
        let manager = try #require(scene.scene.peripheral?.manager)
        scene.lock.call { $0.startAdvertising(manager, advertising) }
        #expect(bystander.connect(to: address))
        let readable = try #require(scene.scene.published).characteristics[0].value
        for _ in 0..<5 {
            fill()
            let before = scene.world.now
            let sent = scene.key.sent.count
            guard case .success(.gatt(.value)) = try scene.scene.perform(.read(readable)) else {
                Issue.record("no value")
                return
            }
            #expect(scene.world.now.milliseconds(since: before) < 1_000)
            // What the read had to wait for is a helping of K-frames and the rest of one that was begun.
            let packets = scene.key.sent.dropFirst(sent)
            let request = try #require(packets.firstIndex { $0.count > 9 && $0[0] == 2 && $0[7] == 4 && $0[9] == 0x0A })
            let ahead = packets[..<request].filter { $0[0] == 2 }.reduce(0) { $0 + $1.count - 5 }
            #expect(ahead <= 1024 + 251)
            let asked = scene.world.now
            #expect(bystander.request([0x0A, UInt8(readable.rawValue), 0], 1_000)?.first == 0x0B)
            #expect(scene.world.now.milliseconds(since: asked) < 500)
        }
        #expect(scene.server.octets.count > 0)
    }
}
