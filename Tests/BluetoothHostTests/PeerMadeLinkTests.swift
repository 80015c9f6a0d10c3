import ATT
import BluetoothCore
import GATT
import HCI
import SecurityManager
import Simulation
import Testing
import VirtualRadio
import WorldSupport

@testable import BluetoothHost

/// An app waits as central for a peer, and somebody under that peer's address connects to this side's peripherals.
@Suite("Links that the peer made, for apps that wait for the peer", .capturesFailures) struct PeerMadeLinkTests {
    /// A home with both roles, and a bonded owner who is away.
    private final class Home {
        let duo: Duo
        let owner: DeviceAddress
        let bonds: [Bond]
        private(set) var advertiser: PeripheralApp?

        init(_ generation: ControllerGeneration = .core54) throws {
            duo = try Duo(.justWorks, hardware: ControllerConfiguration(generation: generation))
            try duo.bond()
            try duo.disconnect()
            bonds = duo[.peripheral].bonds
            owner = try #require(bonds.first?.identity).address
            duo[.central].node.kill()
            duo.world.run(forMilliseconds: 2_000)
        }

        var world: World { duo.world }
        var node: Node { duo[.peripheral].node }
        func client() throws -> CentralApp { try #require(duo[.peripheral].client) }
        func address() throws -> DeviceAddress { try #require(node.host?.identity.address.address) }

        func wait() throws {
            let client = try client()
            node.call { $0.connect(client.manager, $0.peer(at: owner), options: 0, askedAtSeconds: 0) }
        }

        func giveUp() throws {
            let client = try client()
            node.call { $0.cancelConnection(client.manager, $0.peer(at: owner)) }
        }

        /// Whether the wish stands as it does on disk.
        var isWaiting: Bool {
            node.store.load().restorations.values.contains { !$0.pendingConnections.isEmpty }
        }

        var connection: LinkID? {
            var link: LinkID?
            node.call { link = $0.connection(to: $0.peer(at: owner))?.link }
            return link
        }

        func impostor() -> RawPeer { RawPeer(world, address: owner) }

        /// The owner comes home, and lets itself be connected to.
        func ownerAdvertises() {
            duo[.central].node.launch { host in
                let app = PeripheralApp(host, restoreIdentifier: "advertiser")
                advertiser = app
                host.startAdvertising(app.manager, AdvertisingRecord(localName: nil, services: [0xFFE0]))
            }
        }

        /// The owner comes home, and connects.
        func ownerConnects() throws -> CentralApp {
            var app: CentralApp?
            duo[.central].node.launch { app = CentralApp($0, restoreIdentifier: "visitor") }
            let visitor = try #require(app)
            world.run(forMilliseconds: 500) { visitor.states.last == .poweredOn }
            let home = try address()
            duo[.central].node.call {
                $0.connect(visitor.manager, $0.peer(at: home), options: 0, askedAtSeconds: 0)
            }
            #expect(world.run(forMilliseconds: 5_000) { visitor.link != nil })
            return visitor
        }
    }

    @Test(
        "Attack: a link under a bonded peer's address is not the connection that an app waits for, asked before or after"
    )
    func impostor() throws {
        for isFirst in [true, false] {
            let home = try Home()
            let client = try home.client()
            let connections = client.connections
            let impostor = home.impostor()
            if isFirst { try home.wait() }
            #expect(impostor.connect(to: try home.address()))
            if !isFirst { try home.wait() }
            impostor.run(1_000)
            #expect(client.link == nil && client.connections == connections && home.isWaiting)
            #expect(impostor.smp.map(\.first) == [0x0B], "it is asked to prove itself, once")
            #expect(impostor.att.isEmpty, "and nothing else")
            #expect(home.connection == nil, "as for an app that is restored now")
            var token: OperationToken?
            home.node.call { token = $0.perform(client.manager, $0.peer(at: home.owner), .discoverDatabase) }
            #expect(client.results[try #require(token)]?.error == .notConnected)
            impostor.disconnect()
            #expect(client.disconnections == 1, "of the link before")
            #expect(home.isWaiting)
            home.ownerAdvertises()
            #expect(home.world.run(forMilliseconds: 10_000) { client.link != nil })
            #expect(client.connections == connections + 1)
            #expect(home.advertiser?.links.count == 1)
        }
    }

    @Test(
        "Attack: who stays under a bonded peer's address, while the peer itself is waited for, is there for 30 s and no longer",
        arguments: [ControllerGeneration.core54, .core40])
    func stays(_ generation: ControllerGeneration) throws {
        let home = try Home(generation)
        let client = try home.client()
        let impostor = home.impostor()
        #expect(impostor.connect(to: try home.address()))
        // As long as nobody waits for the peer, it may stay.
        impostor.run(Host.proofMilliseconds + 1_000)
        #expect(impostor.handle != nil)
        try home.wait()
        let asked = home.node.sent.count
        // In its own name the owner cannot be connected to meanwhile: the controller has that connection already. By the
        // accept list the attempt stands; by address, which is all that the old one leaves, it is refused.
        home.ownerAdvertises()
        impostor.run(Host.proofMilliseconds - 1_000)
        #expect(impostor.handle != nil && client.link == nil && home.isWaiting)
        let attempts = home.node.connectionAttempts(since: asked)
        let tries = generation == .core40 ? Int(Host.proofMilliseconds / GAP.retryMilliseconds) - 1 : 0
        #expect(attempts == tries, "again, and not without a pause")
        #expect(impostor.run(2_000) { impostor.handle == nil })
        #expect(home.world.run(forMilliseconds: 10_000) { client.link != nil })
        #expect(home.advertiser?.links.count == 1)
        #expect(home.node.host?.faults == 0)
    }

    @Test("A wish that was taken back puts nobody out; one that comes again asks again")
    func takenBack() throws {
        let home = try Home()
        let impostor = home.impostor()
        #expect(impostor.connect(to: try home.address()))
        try home.wait()
        try home.giveUp()
        impostor.run(Host.proofMilliseconds + 1_000)
        #expect(impostor.handle != nil)
        try home.wait()
        impostor.run(1_000)
        #expect(impostor.smp.map(\.first) == [0x0B, 0x0B])
        #expect(impostor.run(Host.proofMilliseconds) { impostor.handle == nil })
    }

    @Test("The peer itself is asked to prove itself, does, and is the connection then, told of once")
    func proven() throws {
        for isFirst in [true, false] {
            let home = try Home()
            let client = try home.client()
            let connections = client.connections
            let before = home.node.sent.count
            if isFirst { try home.wait() }
            let visitor = try home.ownerConnects()
            if !isFirst { try home.wait() }
            #expect(home.world.run(forMilliseconds: 5_000) { client.link != nil })
            #expect(client.link?.isProven == true && client.link?.bond == home.bonds.first?.id)
            #expect(client.connections == connections + 1)
            #expect(home.connection != nil && home.connection == client.link?.link)
            #expect(visitor.paired.isEmpty && home.duo[.peripheral].bonds.map(\.id) == home.bonds.map(\.id))
            home.world.run(forMilliseconds: 2 * Host.proofMilliseconds)
            #expect(client.link != nil && client.connections == connections + 1)
            #expect(home.node.connectionAttempts(since: before) == 1)
            #expect(home.node.cancels(since: before) == 1, "nobody looks any longer for who is there")
            // It stays the peer's link.
            try home.giveUp()
            home.world.run(forMilliseconds: 1_000)
            #expect(client.link == nil && visitor.link != nil)
        }
    }

    @Test("Who waits behind a link of a peer without a bond has it at once: no link under that address proves more")
    func stranger() throws {
        let home = try Home()
        let client = try home.client()
        let connections = client.connections
        let address = DeviceAddress(kind: .random, bits: 0xC0DE_0000_0042)
        home.node.call { $0.connect(client.manager, $0.peer(at: address), options: 0, askedAtSeconds: 0) }
        let peer = RawPeer(home.world, address: address)
        #expect(peer.connect(to: try home.address()))
        peer.run(500)
        #expect(client.link?.address == address && client.connections == connections + 1)
        #expect(peer.smp.isEmpty)
    }

    @Test("A link that was on its way when its wish was taken back, or when the peer came by itself, is ended")
    func tooLate() throws {
        for comesItself in [true, false] {
            let home = try Home()
            let client = try home.client()
            let connections = client.connections
            var held: [[UInt8]] = []
            // LE Connection Complete as central.
            home.node.wire.withholds = { packet in
                guard packet.count > 7, packet[1] == 0x3E, [0x01, 0x0A].contains(packet[3]),
                    packet[4...7] == [0, packet[5], packet[6], 0]
                else { return false }
                held.append(packet)
                return true
            }
            let stranger = RawPeer(home.world, address: DeviceAddress(kind: .random, bits: 0xC0DE_0000_0042))
            let name = DeviceAddress(kind: .random, bits: 0xC0DE_0000_0042)
            stranger.advertise()
            home.node.call { $0.connect(client.manager, $0.peer(at: name), options: 0, askedAtSeconds: 0) }
            #expect(stranger.run(3_000) { stranger.handle != nil && !held.isEmpty })
            home.node.wire.withholds = { _ in false }
            if comesItself {
                // Its other controller.
                let other = RawPeer(home.world, address: name)
                #expect(other.connect(to: try home.address()))
                #expect(client.connections == connections + 1)
                let (value, ccc) = (AttributeHandle(0x10), AttributeHandle(0x11))
                home.node.call {
                    _ = $0.setNotify(client.manager, $0.peer(at: name), value: value, ccc: ccc, kind: .notify)
                }
                #expect(other.run(1_000) { other.att.last?.first == 0x12 })
                other.send([0x13], on: RawPeer.attributeProtocol)
                other.run(500)
            } else {
                home.node.call { $0.cancelConnection(client.manager, $0.peer(at: name)) }
            }
            home.node.inject(held)
            if comesItself {
                // While the late one ends, the one that stands is the app's.
                var token: OperationToken?
                home.node.call { token = $0.perform(client.manager, $0.peer(at: name), .discoverDatabase) }
                #expect(client.results[try #require(token)] == nil)
            }
            #expect(stranger.run(2_000) { stranger.handle == nil })
            #expect(client.connections == connections + (comesItself ? 1 : 0))
            #expect((client.link != nil) == comesItself)
            let subscriptions = home.node.store.load().restorations.values.flatMap(\.subscriptions)
            #expect(subscriptions.count == (comesItself ? 1 : 0), "of the link that stands")
        }
    }

    @Test("A link that the peer made while another one was ending is an app's once it has heard of the end")
    func beforeTheEnd() throws {
        let home = try Home()
        let client = try home.client()
        let (connections, disconnections) = (client.connections, client.disconnections)
        let name = DeviceAddress(kind: .random, bits: 0xC0DE_0000_0042)
        let stranger = RawPeer(home.world, address: name)
        stranger.advertise()
        func wait() {
            home.node.call { $0.connect(client.manager, $0.peer(at: name), options: 0, askedAtSeconds: 0) }
        }
        wait()
        #expect(stranger.run(3_000) { client.link != nil })
        let former = try #require(client.link?.link)
        // Disconnection Complete.
        var held: [[UInt8]] = []
        home.node.wire.withholds = { packet in
            guard packet.count > 1, packet[1] == 0x05 else { return false }
            held.append(packet)
            return true
        }
        home.node.call { $0.drop(former) }
        #expect(stranger.run(2_000) { stranger.handle == nil && !held.isEmpty })
        let other = RawPeer(home.world, address: name)
        #expect(other.connect(to: try home.address()))
        #expect(client.connections == connections + 1 && client.disconnections == disconnections)
        home.node.wire.withholds = { _ in false }
        home.node.inject(held)
        #expect(client.disconnections == disconnections + 1 && client.link == nil)
        wait()
        #expect(client.connections == connections + 2)
        #expect(client.link != nil && client.link?.link != former)
    }
}

extension Node {
    /// LE Create Connection commands, of either family, since so many packets had left.
    fileprivate func connectionAttempts(since count: Int) -> Int {
        sent.dropFirst(count).count { $0.starts(with: [1, 0x0D, 0x20]) || $0.starts(with: [1, 0x43, 0x20]) }
    }
}

extension Node {
    /// LE Create Connection Cancel commands.
    fileprivate func cancels(since count: Int) -> Int {
        sent.dropFirst(count).count { $0.starts(with: [1, 0x0E, 0x20]) }
    }
}

extension Result where Failure == HostError {
    fileprivate var error: HostError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
