import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import SecurityManager
import Simulation
import Testing
import VirtualRadio
import WorldSupport

/// Hosts whose addresses change while they wait for each other.
@Suite(.capturesFailures) struct PrivacyTests {
    private let life = PrivateAddress.lifeMilliseconds

    /// A bonded lock and key that are private from their next launch on, and in nobody's reach but their own.
    private func bonded(_ hardware: ControllerConfiguration = ControllerConfiguration()) throws
        -> HostScenarioTests.Scene
    {
        let scene = HostScenarioTests.Scene(hardware: hardware)
        scene.start()
        try scene.connect()
        try scene.pairOutOfBand()
        scene.promote()
        scene.dropLink()
        return scene
    }

    private func scan(_ scene: HostScenarioTests.Scene) throws {
        let app = try #require(scene.central)
        scene.key.call { $0.startScan(app.manager, ScanRecord(services: [], allowDuplicates: true)) }
    }

    /// Somebody who is nobody's business, and hears everybody.
    private func passerBy(_ scene: HostScenarioTests.Scene) -> RawPeer {
        let peer = RawPeer(scene.world, address: DeviceAddress(kind: .random, bits: 0xC0DE_0000_0042))
        peer.listen()
        return peer
    }

    /// What the key's app hears now.
    private func heard(_ scene: HostScenarioTests.Scene) throws -> AdvertisementReport {
        let app = try #require(scene.central)
        let before = app.reports.count
        #expect(scene.world.run(forMilliseconds: 3_000) { app.reports.count > before + 1 })
        return try #require(app.reports.last)
    }

    private func isOwn(_ address: DeviceAddress, of node: Node) throws -> Bool {
        let host = try #require(node.host)
        let hash = Toolbox.ah(
            irk: AES128(key: host.identity.irk), prand: UInt32(truncatingIfNeeded: address.bits >> 24))
        return address.isResolvable && hash == UInt32(address.bits & 0xFF_FFFF)
    }

    @Test("While the adapter is away no address runs out: nothing is due, and once it is back the address is another")
    func awayForLong() throws {
        let scene = try bonded()
        scene.world.run(forMilliseconds: 1_000)
        let before = try #require(scene.lock.host?.addressOnAir)
        scene.lock.call { $0.transportClosed() }
        let end = scene.world.now.advanced(byMilliseconds: life + 60_000)
        let due = scene.lock.host?.deadline
        #expect(due.map { $0 > end } ?? true)
        scene.world.run(forMilliseconds: life + 60_000)
        scene.lock.call { $0.transportOpened() }
        #expect(scene.world.run(forMilliseconds: 3_000) { scene.lock.host?.addressOnAir != nil })
        #expect(scene.lock.host?.addressOnAir != before)
    }

    @Test(
        "10.7.1: without a bond the identity address; with one a private address, another every 900 s, one peer for all"
    )
    func rotation() throws {
        let fresh = HostScenarioTests.Scene()
        fresh.start()
        #expect(passerBy(fresh).nextAdvertiser() == fresh.lock.host?.identity.address.address)

        let scene = try bonded()
        try scan(scene)
        let passerBy = passerBy(scene)
        var addresses: Set<DeviceAddress> = []
        for _ in 0..<4 {
            let address = try #require(passerBy.nextAdvertiser())
            #expect(try isOwn(address, of: scene.lock))
            #expect(scene.lock.host?.addressOnAir == address)
            #expect(try heard(scene).peer == scene.door, "the name is the identity's")
            addresses.insert(address)
            scene.world.run(forMilliseconds: life)
        }
        #expect(addresses.count == 4)
    }

    @Test("The address stands for its whole life, and a millisecond later there is another")
    func wholeLife() throws {
        var random: any RandomSource = SeededRandom(seed: 3)
        var address = PrivateAddress(irk: Secret(Array(1...16)))
        #expect(address.deadline == nil)
        let first = address.address(at: Instant(nanoseconds: 5), random: &random)
        let end = Instant(nanoseconds: 5).advanced(byMilliseconds: life)
        #expect(address.deadline == end)
        #expect(address.address(at: Instant(nanoseconds: end.nanoseconds - 1), random: &random) == first)
        #expect(address.address(at: end, random: &random) != first)
        #expect(address.deadline == end.advanced(byMilliseconds: life))
    }

    @Test("While a window is open the lock shows the address that its setup code names, and hides it again after")
    func window() throws {
        let scene = try bonded()
        try scan(scene)
        let passerBy = passerBy(scene)
        #expect(try isOwn(try #require(passerBy.nextAdvertiser()), of: scene.lock))
        scene.lock.call { $0.setPairingWindow(PairingWindow(method: .passkeyDisplay, credential: "bob")) }
        scene.world.run(forMilliseconds: 500)
        #expect(passerBy.nextAdvertiser() == scene.lock.host?.identity.address.address)
        #expect(try heard(scene).peer == scene.door, "7.8.77: the key's controller takes that from it too")
        scene.lock.call { $0.setPairingWindow(nil) }
        scene.world.run(forMilliseconds: 500)
        #expect(try isOwn(try #require(passerBy.nextAdvertiser()), of: scene.lock))
    }

    @Test("10.7.2: the central connects under a private address; the lock knows whose it is, and encrypts")
    func central() throws {
        let scene = try bonded()
        try scene.connect()
        let link = try #require(scene.peripheral?.links.first)
        #expect(try isOwn(link.address, of: scene.key))
        #expect(link.bond == scene.lock.host?.bonds.first?.id && !link.isProven)
        let door = try #require(scene.door)
        scene.key.call { $0.encrypt(door) }
        #expect(scene.world.run(forMilliseconds: 2_000) { scene.peripheral?.secured.last?.isProven == true })
    }

    @Test("A connection that waits over four rotations of both sides is made when the lock comes back")
    func pendingOverRotations() throws {
        let scene = try bonded()
        scene.lock.kill()
        let (app, door) = (try #require(scene.central), try #require(scene.key.host?.bonds.first?.identity))
        scene.key.call { host in
            host.connect(app.manager, host.peer(at: door.address), options: 0, askedAtSeconds: 0)
        }
        for _ in 0..<4 { scene.world.run(forMilliseconds: life) }
        #expect(app.link == nil)
        scene.launchLock()
        #expect(scene.world.run(forMilliseconds: 10_000) { app.link != nil })
        #expect(try isOwn(try #require(app.link).address, of: scene.lock))
    }

    @Test("A private lock is found by a key whose own privacy is off, and a kill gives either a fresh address")
    func restarts() throws {
        let scene = try bonded()
        try scan(scene)
        let passerBy = passerBy(scene)
        let before = try #require(passerBy.nextAdvertiser())
        scene.lock.kill()
        scene.key.kill()
        scene.key.configuration.privacy = false
        scene.launchLock()
        scene.launchKey()
        scene.world.run(forMilliseconds: 500) { scene.central?.states.last == .poweredOn }
        let after = try #require(passerBy.nextAdvertiser())
        #expect(try after != before && isOwn(after, of: scene.lock))
        try scene.connect()
        #expect(scene.peripheral?.links.first?.address == scene.key.host?.identity.address.address)
    }

    @Test("A recorded private address of the lock, replayed: the key comes, and trusts nothing that it hears there")
    func replayedAddress() throws {
        let scene = try bonded()
        try scan(scene)
        let recorded = try #require(passerBy(scene).nextAdvertiser())
        #expect(try isOwn(recorded, of: scene.lock))
        scene.lock.kill()
        let app = try #require(scene.central)
        scene.key.call { $0.stopScan(app.manager) }
        let identity = try #require(scene.key.host?.bonds.first?.identity)
        let impostor = RawPeer(scene.world, address: recorded)
        impostor.command(0x2006, [0xA0, 0, 0xA0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0])
        impostor.command(0x200A, [1])
        scene.key.call { host in
            host.connect(app.manager, host.peer(at: identity.address), options: 0, askedAtSeconds: 0)
        }
        #expect(scene.world.run(forMilliseconds: 10_000) { app.link != nil })
        #expect(app.link?.isProven == false && app.link?.security.encrypted == false)
        let before = app.secured.count
        scene.key.call { $0.encrypt($0.peer(at: identity.address)) }
        scene.world.run(forMilliseconds: 5_000)
        #expect(!app.secured.dropFirst(before).contains(true))
    }

    // MARK: Observing

    @Test(
        "GAP/BROB/OBSV/BV-05, BV-06: who is scanned actively hears from a private address, and is known under its own")
    func observes() throws {
        let scene = try bonded()
        let bond = try #require(scene.key.host?.bonds.first)
        scene.lock.kill()
        let irk = AES128(key: try #require(bond.peerIRK))
        for (address, peer) in [
            (Toolbox.resolvablePrivateAddress(irk: irk, random: 0x12_3456), scene.key.host?.bonds.first?.identity),
            (DeviceAddress(kind: .random, bits: 0xC0DE_0000_0007), nil),
        ] {
            let broadcaster = RawPeer(scene.world, address: address)
            // Manufacturer specific data, and the name that only the scan response has.
            broadcaster.broadcast([4, 0xFF, 0xFF, 0xFF, 7], scanResponse: [4, 9, 0x41, 0x42, 0x43])
            let app = try #require(scene.central)
            let before = app.reports.count
            try scan(scene)
            #expect(
                scene.world.run(forMilliseconds: 3_000) {
                    let new = app.reports.dropFirst(before)
                    return new.contains { $0.localName == "ABC" }
                        && new.contains { $0.data.manufacturerData?.last == 7 }
                })
            broadcaster.run(100)
            #expect(try isOwn(try #require(broadcaster.scanners.last), of: scene.key))
            var name: PeerIdentifier?
            scene.key.call { name = $0.peer(at: peer?.address ?? address) }
            #expect(app.reports.last?.peer == name)
            scene.key.call { $0.stopScan(app.manager) }
            broadcaster.command(0x2039, [0, 0])
        }
    }
}

/// Private locks, before keys whose controllers resolve addresses and before such as do not.
@Suite(.capturesFailures) struct ResolvedPeerTests {
    private func bonded(_ hardware: ControllerConfiguration) throws -> HostScenarioTests.Scene {
        let scene = HostScenarioTests.Scene(hardware: hardware)
        scene.start()
        try scene.connect()
        try scene.pairOutOfBand()
        scene.promote()
        scene.dropLink()
        return scene
    }

    /// Opcodes that a node has sent since it had sent so many packets.
    private func opcodes(_ node: Node, since count: Int = 0) -> [UInt16] {
        node.sent.dropFirst(count).filter { $0.first == 1 }.map { UInt16($0[1]) | UInt16($0[2]) << 8 }
    }

    private static let scanEnables: Set<UInt16> = [0x200C, 0x2042]

    @Test(
        "A controller that resolves is waited with by the accept list, without listening; before any other one listens")
    func waits() throws {
        for generation in ControllerGeneration.allCases {
            // Core 4.2 has a list and no LE Set Privacy Mode: docs/GAP.md says why that is of no use.
            let resolves = generation == .core54
            let scene = try bonded(ControllerConfiguration(generation: generation))
            scene.lock.kill()
            scene.key.kill()
            scene.launchKey()
            let app = try #require(scene.central)
            let identity = try #require(scene.key.host?.bonds.first?.identity)
            scene.world.run(forMilliseconds: 500) { app.states.last == .poweredOn }
            let before = scene.key.sent.count
            scene.key.call { host in
                host.connect(app.manager, host.peer(at: identity.address), options: 0, askedAtSeconds: 0)
            }
            scene.world.run(forMilliseconds: PrivateAddress.lifeMilliseconds + 1)
            scene.launchLock()
            #expect(scene.world.run(forMilliseconds: 10_000) { app.link != nil }, "\(generation)")
            #expect(app.link?.address.isResolvable == true && app.link?.bond != nil, "\(generation)")
            let sent = opcodes(scene.key, since: before)
            #expect(sent.contains { Self.scanEnables.contains($0) } == !resolves, "\(generation)")
            #expect(sent.contains(0x2027) == resolves && sent.contains(0x204E) == resolves, "\(generation)")
            #expect(scene.key.host?.faults == 0)
            // A link that comes and goes changes nothing of the list.
            let quiet = scene.key.sent.count
            scene.dropLink()
            try scene.connect()
            #expect(Set(opcodes(scene.key, since: quiet)).isDisjoint(with: [0x2027, 0x2028, 0x202D, 0x204E]))
        }
    }

    @Test("Of more private peers than the list holds each is connected to, the last by listening")
    func overflow() throws {
        let scene = try bonded(ControllerConfiguration(resolvingListSize: 1))
        scene.lock.kill()
        scene.key.kill()
        var second = try #require(scene.key.store.load().bonds.first)
        let first = try #require(second.identity)
        let irk = Secret(Array(1...16))
        second.id = BondID(4711)
        second.identity = IdentityAddress(DeviceAddress(kind: .random, bits: 0xC0DE_0000_0077))
        second.peerIRK = irk
        scene.key.store.append(.bond(.upsert(second)))
        scene.key.store.didCommit()
        scene.launchKey()
        let app = try #require(scene.central)
        scene.world.run(forMilliseconds: 500) { app.states.last == .poweredOn }
        scene.key.call { host in
            for identity in [first, second.identity].compactMap({ $0 }) {
                host.connect(app.manager, host.peer(at: identity.address), options: 0, askedAtSeconds: 0)
            }
        }
        let address = Toolbox.resolvablePrivateAddress(irk: AES128(key: irk), random: 77)
        let other = RawPeer(scene.world, address: address)
        other.advertise()
        #expect(scene.world.run(forMilliseconds: 10_000) { app.link?.address == address })
        scene.launchLock()
        #expect(scene.world.run(forMilliseconds: 10_000) { app.connections == 2 })
        #expect(opcodes(scene.key).count { $0 == 0x2027 } <= 2, "one entry, before and after the kill")
    }

    @Test(
        "7.8.38: one entry for an identity: a peer with two bonds, and a key in each, is found under the address of either",
        arguments: ControllerGeneration.allCases)
    func twoKeys(_ generation: ControllerGeneration) throws {
        let scene = try bonded(ControllerConfiguration(generation: generation))
        scene.lock.kill()
        scene.key.kill()
        let old = try #require(scene.key.store.load().bonds.first)
        let identity = try #require(old.identity)
        // Paired again since it was reset, and not yet back.
        var new = old
        new.id = BondID(4711)
        new.state = .unconfirmed
        new.peerIRK = Secret(Array(1...16))
        scene.key.store.append(.bond(.upsert(new)))
        scene.key.store.didCommit()
        scene.launchKey()
        let app = try #require(scene.central)
        scene.world.run(forMilliseconds: 500) { app.states.last == .poweredOn }
        let irks = [try #require(old.peerIRK), try #require(new.peerIRK)]
        let addresses = irks.map { Toolbox.resolvablePrivateAddress(irk: AES128(key: $0), random: 77) }
        for (number, address) in (addresses + [identity.address]).enumerated() {
            scene.key.call { host in
                host.connect(app.manager, host.peer(at: identity.address), options: 0, askedAtSeconds: 0)
            }
            let peer = RawPeer(scene.world, address: address)
            peer.advertise()
            #expect(scene.world.run(forMilliseconds: 15_000) { app.connections == number + 1 }, "\(number)")
            #expect(app.link?.address == address && app.link?.bond != nil)
            scene.key.call { host in host.cancelConnection(app.manager, host.peer(at: identity.address)) }
            peer.run(1_000)
        }
        // Confirmed, the new bond is the only one, and the controller is told its key.
        let before = scene.key.sent.count
        scene.key.call { host in
            host.promoteBond(new.id)
            host.connect(app.manager, host.peer(at: identity.address), options: 0, askedAtSeconds: 0)
        }
        scene.world.run(forMilliseconds: 1_000)
        #expect(opcodes(scene.key, since: before).contains(0x2027) == (generation == .core54))
        RawPeer(scene.world, address: addresses[1]).advertise()
        #expect(scene.world.run(forMilliseconds: 15_000) { app.connections == 4 })
        #expect(scene.key.host?.faults == 0)
    }

    @Test("A peer with a key in one of its two bonds, and none in the other, is left to the controller's list")
    func oneKeyOfTwo() throws {
        for hasKey in [true, false] {
            let scene = try bonded(ControllerConfiguration())
            scene.lock.kill()
            scene.key.kill()
            var old = try #require(scene.key.store.load().bonds.first)
            let (identity, irk) = (try #require(old.identity), try #require(old.peerIRK))
            var new = old
            new.id = BondID(4711)
            new.state = .unconfirmed
            if hasKey { old.peerIRK = nil } else { new.peerIRK = nil }
            for bond in [old, new] { scene.key.store.append(.bond(.upsert(bond))) }
            scene.key.store.didCommit()
            scene.launchKey()
            let app = try #require(scene.central)
            scene.world.run(forMilliseconds: 500) { app.states.last == .poweredOn }
            let address = Toolbox.resolvablePrivateAddress(irk: AES128(key: irk), random: 77)
            for (number, address) in [address, identity.address].enumerated() {
                scene.key.call { host in
                    host.connect(app.manager, host.peer(at: identity.address), options: 0, askedAtSeconds: 0)
                }
                let peer = RawPeer(scene.world, address: address)
                peer.advertise()
                #expect(scene.world.run(forMilliseconds: 15_000) { app.connections == number + 1 }, "\(hasKey)")
                scene.key.call { host in host.cancelConnection(app.manager, host.peer(at: identity.address)) }
                peer.run(1_000)
            }
            #expect(!opcodes(scene.key).suffix(40).contains { Self.scanEnables.contains($0) }, "nobody listens")
        }
    }

    @Test("Vol 3, Part H, 2.2.7: pairing over a link that the controller has resolved counts the addresses on the air")
    func pairsAgain() throws {
        let scene = try bonded(ControllerConfiguration())
        try scene.connect()
        let app = try #require(scene.central)
        #expect(app.link?.address.isResolvable == true)
        let before = app.paired.count
        try scene.pairOutOfBand()
        #expect(scene.world.run(forMilliseconds: 5_000) { app.paired.count > before })
        guard case .success = app.paired.last else {
            Issue.record("\(app.paired)")
            return
        }
    }

    @Test("A lock that has forgotten its bonds, and shows its identity address, is reached by who knows it as private")
    func identityOfPrivatePeer() throws {
        let scene = try bonded(ControllerConfiguration())
        try scene.connect()
        scene.dropLink()
        scene.lock.call { host in for bond in host.bonds { host.deleteBond(bond.id) } }
        scene.world.run(forMilliseconds: 500)
        try scene.connect()
        #expect(scene.central?.link?.address == scene.lock.host?.identity.address.address)
    }
}
