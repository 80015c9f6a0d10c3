import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// Modes and procedures of peers that are bonded and private.
@Suite("Core 5.4, Vol 3, Part C, 10.7 and 10.8: modes and procedures under private addresses", .capturesFailures)
struct PrivateModeTests {
    /// A bonded lock and key that have said good-bye, each under private addresses.
    private func bonded() throws -> HostScenarioTests.Scene {
        let scene = HostScenarioTests.Scene()
        for node in [scene.lock, scene.key] { node.configuration.privacy = true }
        scene.start()
        try scene.connect()
        try scene.pairOutOfBand()
        scene.promote()
        scene.lock.call { $0.setPairingWindow(nil) }
        scene.dropLink()
        // A new key wants nobody: its controller resolves no address, and reports what is on the air.
        scene.key.kill()
        scene.launchKey()
        scene.world.run(forMilliseconds: 500) { scene.central?.states.last == .poweredOn }
        return scene
    }

    private func advertise(
        _ scene: HostScenarioTests.Scene, _ mode: DiscoverableMode, _ connectability: ConnectableMode
    )
        throws
    {
        let app = try #require(scene.peripheral)
        scene.lock.call { $0.startAdvertising(app.manager, ModeScene.record(mode, connectability)) }
    }

    private func listen(_ scene: HostScenarioTests.Scene, _ procedure: DiscoveryProcedure) throws -> CentralApp {
        let app = try #require(scene.central)
        scene.key.call {
            $0.startScan(app.manager, ScanRecord(services: [], allowDuplicates: true, procedure: procedure))
        }
        return app
    }

    private func isLock(_ address: DeviceAddress, _ scene: HostScenarioTests.Scene) throws -> Bool {
        let irk = AES128(key: try #require(scene.lock.host).identity.irk)
        let hash = Toolbox.ah(irk: irk, prand: UInt32(truncatingIfNeeded: address.bits >> 24))
        return address.isResolvable && hash == UInt32(address.bits & 0xFF_FFFF)
    }

    @Test("GAP/BROB/BCST/BV-03-C: a broadcast under a resolvable private address, another one after its time")
    func broadcast() throws {
        let scene = try bonded()
        try advertise(scene, .nonDiscoverable, .nonConnectable)
        let app = try listen(scene, .observation)
        var addresses: Set<DeviceAddress> = []
        for _ in 0..<2 {
            let before = app.reports.count
            scene.world.run(forMilliseconds: 2_000)
            let heard = app.reports.dropFirst(before)
            #expect(!heard.isEmpty)
            for report in heard {
                #expect(try isLock(report.address, scene))
                #expect(!report.isConnectable && report.data.flags == AdvertisingFlags(.nonDiscoverable))
                #expect(report.peer == scene.door)
            }
            addresses.formUnion(heard.map(\.address))
            scene.world.run(forMilliseconds: PrivateAddress.lifeMilliseconds)
        }
        #expect(addresses.count == 2)
    }

    @Test(
        "GAP/DISC/RPA/BV-01-C: a discovery procedure lists a peer under a private address by its identity",
        arguments: [DiscoverableMode.limited, .general])
    func discovered(_ mode: DiscoverableMode) throws {
        let scene = try bonded()
        try advertise(scene, mode, .connectable)
        let app = try listen(scene, mode == .limited ? .limitedDiscovery : .generalDiscovery)
        #expect(scene.world.run(forMilliseconds: 3_000) { app.reports.contains { $0.localName == "Bell" } })
        for report in app.reports {
            #expect(try isLock(report.address, scene))
            #expect(report.peer == scene.door, "its identity address's name")
        }
    }

    @Test(
        "GAP/CONN/PRDA/BV-02-C: the central comes back to a bonded peer three times under new addresses, and encrypts")
    func reconnections() throws {
        let scene = try bonded()
        var addresses: Set<DeviceAddress> = []
        for _ in 0..<3 {
            try scene.connect()
            let app = try #require(scene.central)
            let address = try #require(app.link).address
            #expect(try isLock(address, scene))
            addresses.insert(address)
            let door = try #require(scene.door)
            let before = app.secured.count
            scene.key.call { $0.encrypt(door) }
            #expect(scene.world.run(forMilliseconds: 2_000) { app.secured.count > before })
            #expect(app.secured.last == true)
            scene.dropLink()
            scene.world.run(forMilliseconds: PrivateAddress.lifeMilliseconds)
        }
        #expect(addresses.count == 3)
    }
}

@Suite("Core 5.4, Vol 3, Part C, 9.2.7: the name of a connected peer", .capturesFailures)
struct NameDiscoveryTests {
    @Test("GAP/IDLE/NAMP/BV-01-C, BV-02-C: read by its type, it is the whole name, in either role")
    func name() throws {
        let scene = HostScenarioTests.Scene()
        scene.lock.configuration.deviceName = "The lock of the front door, whose name is longer than one PDU"
        scene.start()
        try scene.connect()
        guard case .success(.gatt(.values(let values))) = try scene.perform(.readByUUID(0x2A00)) else {
            Issue.record("no name")
            return
        }
        #expect(values.count == 1)
        let handle = try #require(values.first).handle
        guard case .success(.gatt(.value(let name))) = try scene.perform(.read(handle)) else {
            Issue.record("no name at its handle")
            return
        }
        #expect(String(decoding: name, as: UTF8.self) == scene.lock.configuration.deviceName)
    }

    @Test(
        "GAP/ADV/BV-02-C: a name that is the device's is advertised as the complete one that is read, or its beginning")
    func advertised() throws {
        for length in [29, 30] {
            let scene = ModeScene()
            let name = String(repeating: "n", count: length)
            scene.house.configuration.deviceName = name
            var record = ModeScene.record(.general, .connectable)
            record.localName = name
            try scene.advertise(record)
            try scene.listen()
            let response = try #require(scene.heard().first { $0.data.flags == nil })
            #expect(response.data.isNameShortened == (length == 30))
            #expect(response.localName.map(name.hasPrefix) == true)
            #expect(response.localName?.utf8.count == 29)
        }
    }
}
