import ATT
import BluetoothCore
import BluetoothHost
import GATT
import Simulation
import Testing
import WorldSupport

/// A central that keeps trees, and peripherals whose trees change.
@Suite("Core 5.4, Vol 3, Part G, 2.5.2.1 (Robust Caching): the client", .capturesFailures)
struct RobustCachingClientTests {
    private static func discovered(_ scene: HostScenarioTests.Scene) throws -> RemoteDatabase {
        guard case .success(.gatt(.database(let database))) = try scene.perform(.discoverDatabase) else {
            throw Surprise()
        }
        let door = try #require(scene.door)
        scene.key.call { $0.keepRemoteDatabase(door, database) }
        scene.world.run(forMilliseconds: 1_000)
        return database
    }

    private static func value(of uuid: BluetoothUUID, in database: RemoteDatabase) throws -> AttributeHandle {
        try #require(database.services.flatMap(\.characteristics).first { $0.uuid == uuid }).value
    }

    private static func change(_ scene: HostScenarioTests.Scene) throws {
        let manager = try #require(scene.peripheral).manager
        scene.lock.call { _ = try? $0.publish(manager, ServiceDefinition(uuid: 0xBB00)) }
    }

    private struct Surprise: Error {}

    @Test("GATT/CL/GAS/BV-02-C, BV-03-C, BV-05-C: the hash is read by its type, and the client says what it can take")
    func claims() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        let database = try Self.discovered(scene)
        let features = try Self.value(of: .clientSupportedFeatures, in: database)
        #expect(database.hash != nil)
        #expect(scene.key.sent.contains { $0.suffix(7) == [0x08, 0x01, 0x00, 0xFF, 0xFF, 0x2A, 0x2B] })
        let claim = [0x12, UInt8(features.rawValue), 0x00, 0x05]
        #expect(scene.key.sent.filter { $0.suffix(4) == claim }.count == 1)
    }

    @Test("A server without a Database Hash is not asked for robust caching, one without the feature for nothing")
    func claimsLess() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        let door = try #require(scene.door)
        var database = try Self.discovered(scene)
        let features = UInt8(try Self.value(of: .clientSupportedFeatures, in: database).rawValue)
        database.hash = nil
        scene.key.call { $0.keepRemoteDatabase(door, database) }
        #expect(
            scene.world.run(forMilliseconds: 1_000) { scene.key.sent.last?.suffix(4) == [0x12, features, 0x00, 0x04] })
        let sent = scene.key.sent.count
        scene.key.call { $0.keepRemoteDatabase(door, RemoteDatabase()) }
        scene.world.run(forMilliseconds: 1_000)
        #expect(scene.key.sent.count == sent)
    }

    @Test("Database Out Of Sync: the tree that was kept is void, and its apps hear so once")
    func outOfSync() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        let database = try Self.discovered(scene)
        let door = try #require(scene.door)
        let handle = try Self.value(of: PeripheralApp.readable, in: database)
        try Self.change(scene)
        guard case .failure(.gatt(.refused(.databaseOutOfSync, _))) = try scene.perform(.read(handle)) else {
            throw Surprise()
        }
        #expect(scene.central?.invalidations == 1)
        scene.key.call { #expect($0.remoteDatabase(door) == nil) }
        _ = try Self.discovered(scene)
        guard case .success(.gatt(.value)) = try scene.perform(.read(handle)) else { throw Surprise() }
        #expect(scene.central?.invalidations == 1)
    }

    @Test(
        "Core 5.4, Vol 3, Part G, 7.1: Service Changed makes a tree without a hash void for every manager, whether it is there, connected, or neither",
        arguments: [true, false])
    func serviceChanged(isThere: Bool) throws {
        let scene = HostScenarioTests.Scene()
        scene.key.configuration.encryptsBondedLinks = true
        scene.start()
        try scene.connect()
        try scene.pairOutOfBand()
        scene.promote()
        let first = try #require(scene.central)
        let door = try #require(scene.door)
        var database = try Self.discovered(scene)
        database.hash = nil
        let indicated = try Self.value(of: .serviceChanged, in: database).rawValue
        let characteristic = try #require(scene.published).characteristics[2]
        let configuration = try #require(characteristic.configuration)
        func kept() -> [SubscriptionRecord] {
            scene.key.store.load().restorations.values.flatMap(\.subscriptions)
        }
        var other: CentralApp?
        scene.key.call {
            $0.keepRemoteDatabase(door, database)
            other = CentralApp($0, restoreIdentifier: "other")
        }
        let second = try #require(other)
        scene.key.call { $0.connect(second.manager, door, options: 0, askedAtSeconds: 0) }
        for app in [first, second] {
            scene.key.call {
                _ = $0.setNotify(
                    app.manager, door, value: characteristic.value, ccc: configuration, kind: .notify)
            }
        }
        #expect(scene.world.run(forMilliseconds: 2_000) { kept().count == 2 })
        scene.key.call { $0.cancelConnection(second.manager, door) }
        if !isThere {
            scene.key.kill()
            scene.key.launch { _ in }
        }
        #expect(scene.world.run(forMilliseconds: 10_000) { scene.key.host?.link(of: door)?.isProven == true })
        scene.key.call { #expect($0.remoteDatabase(door) == database) }
        #expect(kept().count == 2)
        let link = try #require(scene.key.handles.last)
        let pdu: [UInt8] = [
            0x1D, UInt8(truncatingIfNeeded: indicated), UInt8(indicated >> 8), 1, 0, 0xFF, 0xFF,
        ]
        scene.key.inject([
            [2, UInt8(truncatingIfNeeded: link), UInt8(link >> 8) | 0x20, 11, 0, 7, 0, 4, 0] + pdu
        ])
        scene.key.call { #expect($0.remoteDatabase(door) == nil) }
        #expect(kept() == [])
        #expect(first.invalidations == (isThere ? 1 : 0) && second.invalidations == 0)
    }

    @Test("Attack: whoever answers under a bonded peer's address cannot make its tree forgotten")
    func impostor() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        try scene.pairOutOfBand()
        let database = try Self.discovered(scene)
        #expect(scene.lock.store.load().gattClients.first?.supportedFeatures == [5])
        let door = try #require(scene.door)
        let handle = try Self.value(of: PeripheralApp.readable, in: database)
        scene.dropLink()
        try Self.change(scene)
        try scene.connect()
        #expect(scene.central?.link?.isProven == false)
        guard case .failure(.gatt(.refused(.databaseOutOfSync, _))) = try scene.perform(.read(handle)) else {
            throw Surprise()
        }
        #expect(scene.central?.invalidations == 0)
        scene.key.call { #expect($0.remoteDatabase(door) == database) }
        scene.key.call { $0.encrypt(door) }
        #expect(
            scene.world.run(forMilliseconds: 2_000) { scene.central?.invalidations == 1 }, "now it is the peer itself")
        scene.key.call { #expect($0.remoteDatabase(door) == nil) }
    }
}
