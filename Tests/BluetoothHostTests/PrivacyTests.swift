import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import SecurityManager
import Testing

/// Hosts whose addresses change while they wait for each other.
@Suite struct PrivacyTests {
    private let life = PrivateAddress.lifeMilliseconds

    /// A bonded lock and key that are private from their next launch on, and in nobody's reach but their own.
    private func bonded() throws -> HostScenarioTests.Scene {
        let scene = HostScenarioTests.Scene()
        for node in [scene.lock, scene.key] { node.configuration.privacy = true }
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

    /// Where the lock is heard to advertise now.
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

    @Test(
        "10.7.1: without a bond the identity address; with one a private address, another every 900 s, one peer for all"
    )
    func rotation() throws {
        let fresh = HostScenarioTests.Scene()
        fresh.lock.configuration.privacy = true
        fresh.start()
        try scan(fresh)
        #expect(try heard(fresh).address == fresh.lock.host?.identity.address.address)

        let scene = try bonded()
        try scan(scene)
        var addresses: Set<DeviceAddress> = []
        for _ in 0..<4 {
            let report = try heard(scene)
            #expect(try isOwn(report.address, of: scene.lock))
            #expect(report.peer == scene.door, "the name is the identity's")
            addresses.insert(report.address)
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
        #expect(try isOwn(try heard(scene).address, of: scene.lock))
        scene.lock.call { $0.setPairingWindow(PairingWindow(method: .passkeyDisplay, credential: "bob")) }
        scene.world.run(forMilliseconds: 500)
        #expect(try heard(scene).address == scene.lock.host?.identity.address.address)
        scene.lock.call { $0.setPairingWindow(nil) }
        scene.world.run(forMilliseconds: 500)
        #expect(try isOwn(try heard(scene).address, of: scene.lock))
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
        let before = try heard(scene).address
        scene.lock.kill()
        scene.key.kill()
        scene.key.configuration.privacy = false
        scene.launchLock()
        scene.launchKey()
        scene.world.run(forMilliseconds: 500) { scene.central?.states.last == .poweredOn }
        #expect(try heard(scene).address != before)
        try scene.connect()
        #expect(scene.peripheral?.links.first?.address == scene.key.host?.identity.address.address)
    }

    @Test("A recorded private address of the lock, replayed: the key comes, and trusts nothing that it hears there")
    func replayedAddress() throws {
        let scene = try bonded()
        try scan(scene)
        let recorded = try heard(scene).address
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
}
