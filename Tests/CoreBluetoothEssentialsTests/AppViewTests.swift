import ATT
import BluetoothCore
import BluetoothHost
import Dispatch
import FoundationEssentials
import GATT
import Simulation
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

@Suite("What an app sees is what stands", .capturesFailures)
struct AppViewTests {
    // MARK: Central

    @Test("Writes without response that are made while the adapter is away take no room from later ones")
    func writesWithoutAdapter() throws {
        let scene = Scene()
        try scene.start()
        let key = try #require(scene.key)
        let door = try #require(key.door)
        let writable = try #require(key.characteristic(Door.writable))
        scene.pocket.loseController()
        try #require(key.manager?.state == .resetting && key.has("disconnected failed"))
        for _ in 0...CommandBudget.maximumWaiting { door.writeValue(Data([7]), for: writable, type: .withoutResponse) }
        #expect(door.canSendWriteWithoutResponse)
        #expect(scene.world.run { key.count("characteristics") == 2 })
        #expect(scene.door?.has("write 1") == false)
        door.writeValue(Data([8]), for: writable, type: .withoutResponse)
        #expect(scene.world.run { scene.door?.has("write 1") == true })
        #expect(scene.door?.requests.map(\.value) == [Data([8])])
    }

    /// The door's service in its next version.
    private static func otherService() -> CBMutableService {
        let service = CBMutableService(type: Door.service, primary: true)
        service.characteristics = [
            CBMutableCharacteristic(type: Door.notifying, properties: .notify, value: nil, permissions: [])
        ]
        return service
    }

    @Test("A stranger that comes back with another tree shows what it has now, and nothing from before")
    func strangersOtherTree() throws {
        let scene = Scene()
        try scene.start()
        let key = try #require(scene.key)
        let door = try #require(key.door)
        let before = try #require(door.services?.first)
        scene.killDoor()
        #expect(scene.world.run { key.has("disconnected failed") })
        scene.lock.launchApp { scene.door = Door($0, addsAlways: true, service: Self.otherService) }
        key.manager?.connect(door)
        #expect(scene.world.run { key.count("characteristics") == 2 })
        #expect(door.services?.map(\.uuid) == [Door.service] && door.services?.first !== before)
        #expect(door.services?.first?.characteristics?.map(\.uuid) == [Door.notifying])
    }

    /// A service at handles 5 to 9, with one characteristic and one included service.
    private static func remoteService(
        characteristic: BluetoothUUID, value: UInt16, included: BluetoothUUID
    ) -> RemoteService {
        RemoteService(
            uuid: 0xAA00, declaration: AttributeHandle(5), end: AttributeHandle(9),
            includedServices: [
                RemoteIncludedService(
                    handle: AttributeHandle(6), uuid: included, declaration: AttributeHandle(0x20),
                    end: AttributeHandle(0x22))
            ],
            characteristics: [
                RemoteCharacteristic(
                    uuid: characteristic, properties: .notify, declaration: AttributeHandle(value - 1),
                    value: AttributeHandle(value), end: AttributeHandle(9))
            ])
    }

    @Test("A service that stands where it stood has the characteristics and included services that it has now")
    func sameHandles() throws {
        let peripheral = CBPeripheral.ofNoHost()
        /// As an app discovers it that asks for each by its type.
        func discover(_ remote: RemoteService) throws -> CBService {
            PeripheralNews.tree(.services(.success([remote]), [remote.uuid])).show(peripheral)
            let service = try #require(peripheral.services?.first)
            PeripheralNews.tree(
                .characteristics(
                    service, .success(remote.characteristics), Set(remote.characteristics.map(\.uuid)),
                    subscribed: [])
            ).show(peripheral)
            let included = remote.includedServices.map {
                RemoteService(uuid: $0.uuid, isPrimary: false, declaration: $0.declaration, end: $0.end)
            }
            PeripheralNews.tree(
                .includedServices(service, .success(included), Set(included.map(\.uuid)))
            ).show(peripheral)
            return service
        }
        let first = try discover(Self.remoteService(characteristic: 0xAA01, value: 7, included: 0x180F))
        let stale = try #require(first.characteristics?.first)
        let second = try discover(Self.remoteService(characteristic: 0xAA02, value: 8, included: 0x180A))
        #expect(second === first)
        #expect(second.characteristics?.map(\.uuid) == [CBUUID(0xAA02)])
        #expect(second.includedServices?.map(\.uuid) == [CBUUID(0x180A)])
        PeripheralNews.value(.sent(AttributeHandle(7), [1])).show(peripheral)
        #expect(stale.value == nil)
        // What has not changed keeps its objects.
        let third = try discover(Self.remoteService(characteristic: 0xAA02, value: 8, included: 0x180A))
        #expect(third.characteristics?.first === second.characteristics?.first)
        #expect(third.includedServices?.first === second.includedServices?.first)
    }

    // MARK: Peripheral

    @Test("A stop that overtakes the confirmation of a start leaves nothing advertised, for the app either")
    func overtakingStop() throws {
        let scene = Scene()
        let queue = DispatchQueue(label: "door")
        scene.lock.launchApp { scene.door = Door($0, queue: queue) }
        let door = try #require(scene.door)
        let manager = try #require(door.manager)
        #expect(scene.run(beside: queue) { door.has("advertising") })
        manager.stopAdvertising()
        scene.world.settle()
        queue.suspend()
        let id = try #require(manager.core.id)
        manager.startAdvertising(nil)
        scene.world.run(forMilliseconds: 1_000)
        #expect(scene.lock.host?.isAdvertising(id) == true)
        manager.stopAdvertising()
        scene.world.run(forMilliseconds: 1_000)
        queue.resume()
        queue.sync {}
        #expect(door.log.suffix(2) == ["advertising", "advertising"], "each start ends in one callback")
        #expect(scene.lock.host?.isAdvertising(id) == false)
        #expect(!manager.isAdvertising)
        // The next start counts again, though one before it was overtaken.
        manager.startAdvertising(nil)
        #expect(scene.run(beside: queue) { door.log.count { $0 == "advertising" } == 3 })
        #expect(manager.isAdvertising)
    }

    @Test("A peripheral manager that is made anew in place has the services that stand, and publishes none twice")
    func madeAnewInPlace() throws {
        let world = World()
        let lock = world.add("lock", seed: 44)
        var (host, first): (CBHost?, Door?)
        lock.launchApp {
            host = $0
            first = Door($0, addsAlways: true)
        }
        #expect(world.run { first?.has("advertising") == true })
        let range = first?.published?.range
        // As `manager = CBPeripheralManager(…)` does: the new one is there before the old one goes.
        let second = Door(try #require(host), addsAlways: true)
        first?.vanish()
        first = nil
        #expect(world.run { second.has("added FFF0") })
        world.settle()
        #expect(second.published?.range == range && range != nil)
        #expect(lock.host?.publishedServices(of: try #require(second.manager?.core.id)).count == 1)
        #expect(lock.store.load().restorations.values.flatMap(\.services).count == 1)
    }
}
