import BluetoothCore
import BluetoothHost
import Dispatch
import FoundationEssentials
import GATT
import Simulation
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

@Suite("Restoration", .capturesFailures)
struct RestorationTests {
    @Test("A killed key hears willRestoreState first, once, and then finds its door connected without having asked")
    func killedKey() throws {
        let scene = Scene()
        try scene.start()
        let identifier = try #require(scene.key?.door?.identifier)
        scene.killKey()
        scene.world.run { scene.door?.links == 0 }
        scene.launchKey()
        let key = try #require(scene.key)
        #expect(key.log == ["restore"])
        let peripheral = try #require(key.door)
        #expect(peripheral.identifier == identifier)
        #expect(peripheral.state == .connecting)
        #expect(key.restored.keys.sorted() == [CBCentralManagerRestoredStatePeripheralsKey])
        #expect(scene.world.run { key.has("connected") })
        #expect(key.log == ["restore", "state poweredOn", "connected"])
        #expect(peripheral.state == .connected)
        // The tree is the one that was discovered in the life before.
        let readable = try #require(key.characteristic(Door.readable))
        peripheral.readValue(for: readable)
        #expect(scene.world.run { key.values == [Data([1, 2, 3])] })
        #expect(scene.door?.manager != nil)
    }

    @Test("A key killed while it scans is scanning again, with what it scanned for")
    func killedScan() throws {
        let world = World()
        let machine = world.add("key", seed: 7)
        var key: Key?
        machine.launchApp { key = Key($0) }
        #expect(world.run { key?.manager?.isScanning == true })
        machine.kill()
        key?.vanish()
        machine.launchApp { key = Key($0) }
        let again = try #require(key)
        #expect(again.log == ["restore"])
        #expect(again.manager?.isScanning == true)
        #expect(again.restored[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID] == [Door.service])
        let options = again.restored[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any]
        #expect(options?[CBCentralManagerScanOptionAllowDuplicatesKey] as? Bool == false)
        #expect(again.restored[CBCentralManagerRestoredStatePeripheralsKey] == nil)
        // Found without a call of the new app.
        let lock = world.add("lock", seed: 8)
        var door: Door?
        lock.launchApp { door = Door($0) }
        #expect(world.run { again.has("discovered") })
        #expect(door != nil)
    }

    @Test("A killed door comes back with its services at their handles, advertising, and asks for nothing")
    func killedDoor() throws {
        let scene = Scene()
        try scene.start()
        let key = try #require(scene.key)
        key.reconnects = true
        key.discovers = false
        let before = scene.door?.published?.characteristics?.map { $0.handles?.value }
        scene.killDoor()
        scene.launchDoor()
        let door = try #require(scene.door)
        #expect(door.log == ["restore"])
        #expect(door.published?.characteristics?.map { $0.handles?.value } == before)
        #expect(before?.isEmpty == false)
        #expect(door.manager?.isAdvertising == true)
        let advertised = door.restored[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any]
        #expect(advertised?[CBAdvertisementDataLocalNameKey] as? String == "Door")
        #expect(advertised?[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] == [Door.service])
        #expect(scene.world.run { key.count("connected") == 2 })
        #expect(door.log == ["restore", "state poweredOn"])
        // Added again by an app that does not look, the service is the one that stands.
        let again = Door.makeService()
        door.manager?.add(again)
        scene.world.settle()
        #expect(again.characteristics?.map { $0.handles?.value } == before)
        #expect(scene.lock.host?.publishedServices(of: try #require(door.manager?.core.id)).count == 1)
    }

    @Test("A subscription that Service Changed ended is not revived by a relaunch")
    func endedSubscription() throws {
        let scene = Scene()
        try scene.start()
        try scene.pair()
        try scene.subscribe()
        func kept() -> [SubscriptionRecord] {
            scene.pocket.store.load().restorations.values.flatMap(\.subscriptions)
        }
        let handle = try #require(scene.door?.characteristic(Door.notifying)?.handles?.value)
        #expect(kept().contains { $0.valueHandle == handle })
        let before = kept().count
        let service = try #require(scene.door?.published)
        scene.door?.manager?.remove(service)
        try #require(scene.world.run { scene.key?.log.contains { $0.hasPrefix("modified") } == true })
        #expect(!kept().contains { $0.valueHandle == handle })
        #expect(kept().count == before - 1, "what did not change stands")
        scene.killKey()
        scene.launchKey()
        #expect(scene.key?.door?.services?.flatMap { $0.characteristics ?? [] }.contains(where: \.isNotifying) != true)
    }

    @Test("What was subscribed on a link that nobody has proved to be the door's goes with it, for the app too")
    func unprovenSubscription() throws {
        let scene = Scene()
        try scene.start()
        try scene.pair()
        let key = try #require(scene.key)
        key.reconnects = true
        func loseLink() throws {
            let before = key.count("connected")
            scene.world.cut(scene.lock, scene.pocket)
            try #require(scene.world.run { scene.door?.links == 0 && key.door?.state != .connected })
            scene.world.join(scene.lock, scene.pocket)
            try #require(scene.world.run { key.count("connected") == before + 1 })
        }
        try loseLink()
        try scene.subscribe()
        let notifying = try #require(key.characteristic(Door.notifying))
        #expect(notifying.isNotifying)
        try loseLink()
        #expect(!notifying.isNotifying)
        // From the door itself it stays.
        key.door?.encrypt()
        try #require(scene.world.run { key.isSecure })
        key.door?.setNotifyValue(true, for: notifying)
        try #require(scene.world.run { key.count("notify true") == 2 })
        try loseLink()
        #expect(notifying.isNotifying)
    }

    @Test("A bonded key's subscription survives both: the door's updates wait for it, and flow again without a call")
    func subscriptions() throws {
        let scene = Scene()
        try scene.start()
        try scene.pair()
        try scene.subscribe()
        let central = try #require(scene.door?.centrals.first?.identifier)

        scene.killKey()
        scene.world.run { scene.door?.links == 0 }
        let notifying = try #require(scene.door?.characteristic(Door.notifying))
        #expect(notifying.subscribedCentrals?.map(\.identifier) == [central])
        #expect(scene.door?.log.contains("unsubscribed FFF3") == false)

        scene.killDoor()
        scene.launchDoor()
        let door = try #require(scene.door)
        let restored = try #require(door.characteristic(Door.notifying))
        #expect(restored.subscribedCentrals?.map(\.identifier) == [central])
        #expect(scene.world.run { door.has("state poweredOn") })
        #expect(door.manager?.updateValue(Data([42]), for: restored, onSubscribedCentrals: nil) == true)
        scene.world.settle()

        scene.launchKey()
        let key = try #require(scene.key)
        #expect(key.characteristic(Door.notifying)?.isNotifying == true)
        #expect(scene.world.run { key.has("connected") })
        key.door?.encrypt()
        #expect(scene.world.run { key.isSecure })
        #expect(scene.world.run { key.values == [Data([42])] })
        #expect(door.manager?.updateValue(Data([43]), for: restored, onSubscribedCentrals: nil) == true)
        #expect(scene.world.run { key.values == [Data([42]), Data([43])] })
        #expect(!key.has("notify true"))
    }

    @Test("An update for a named subscriber that is away waits for it, and one for somebody else does not")
    func namedSubscriber() throws {
        let scene = Scene()
        scene.pocket.configuration.encryptsBondedLinks = true
        try scene.start()
        try scene.pair()
        try scene.subscribe()
        let door = try #require(scene.door)
        let central = try #require(door.centrals.first)
        let stranger = CBCentral(PeerIdentifier(bits: 9), backlog: Backlog())
        let notifying = try #require(door.characteristic(Door.notifying))
        func update(_ value: UInt8, _ centrals: [CBCentral]) -> Bool? {
            door.manager?.updateValue(Data([value]), for: notifying, onSubscribedCentrals: centrals)
        }
        scene.killKey()
        scene.world.run { scene.door?.links == 0 }
        #expect(update(42, [stranger, central]) == true)
        #expect(update(43, [stranger]) == true)
        #expect(update(44, []) == true)
        scene.launchKey()
        let key = try #require(scene.key)
        key.discovers = false
        #expect(scene.world.run { key.values == [Data([42])] })
        #expect(update(45, [central]) == true)
        #expect(scene.world.run { key.values == [Data([42]), Data([45])] })
        scene.world.run(forMilliseconds: 2_000)
        #expect(key.values == [Data([42]), Data([45])])
        let kept = scene.lock.store.load().restorations.values.flatMap(\.queuedUpdates)
        #expect(kept.isEmpty)
    }

    @Test("An app of Apple's API, which cannot encrypt, hears what a bonded door kept for it, and asks for nothing")
    func keptForApps() throws {
        let scene = Scene()
        scene.pocket.configuration.encryptsBondedLinks = true
        try scene.start()
        try scene.pair()
        try scene.subscribe()
        scene.killKey()
        scene.world.run { scene.door?.links == 0 }
        let door = try #require(scene.door)
        let notifying = try #require(door.characteristic(Door.notifying))
        #expect(door.manager?.updateValue(Data([42]), for: notifying, onSubscribedCentrals: nil) == true)
        scene.launchKey()
        let key = try #require(scene.key)
        key.discovers = false
        #expect(scene.world.run { key.values == [Data([42])] })
        #expect(key.isSecure)

        // And on each later link of the same life.
        key.reconnects = true
        scene.world.cut(scene.lock, scene.pocket)
        #expect(scene.world.run { scene.door?.links == 0 && key.has("disconnected failed") })
        #expect(door.manager?.updateValue(Data([43]), for: notifying, onSubscribedCentrals: nil) == true)
        scene.world.join(scene.lock, scene.pocket)
        #expect(scene.world.run { key.values == [Data([42]), Data([43])] })
        #expect(!key.has("notify true"))
    }

    @Test("A lost connection is kept until the app has heard of the loss: killed before that, it is restored with it")
    func unheardLoss() throws {
        let scene = Scene()
        let queue = DispatchQueue(label: "pocket")
        func launch() { scene.pocket.launchApp { scene.key = Key($0, queue: queue) } }
        func run(until condition: () -> Bool) -> Bool { scene.run(beside: queue, until: condition) }
        func isKept() -> Bool { scene.keepsConnection }
        scene.launchDoor()
        launch()
        #expect(run { scene.key?.has("characteristics") == true })
        let peer = try #require(scene.key?.door?.peer)

        // The loss is on the disk, and its callback waits when the process is killed.
        queue.suspend()
        scene.world.cut(scene.lock, scene.pocket)
        #expect(scene.world.run { scene.door?.links == 0 && scene.pocket.host?.link(of: peer) == nil })
        #expect(isKept())
        scene.killKey()
        queue.resume()
        queue.sync {}
        scene.world.join(scene.lock, scene.pocket)
        launch()
        let key = try #require(scene.key)
        #expect(run { key.has("connected") })
        #expect(key.log == ["restore", "state poweredOn", "connected"])

        // An app that asks anew when it hears of it is never without a connection that is kept.
        queue.sync { key.reconnects = true }
        scene.world.cut(scene.lock, scene.pocket)
        #expect(run { key.has("disconnected failed") })
        scene.world.settle()
        #expect(isKept())
        scene.world.join(scene.lock, scene.pocket)
        #expect(run { key.count("connected") == 2 })

        // One that has heard of it and asks for nothing has nothing.
        queue.sync { key.reconnects = false }
        scene.world.cut(scene.lock, scene.pocket)
        #expect(run { key.count("disconnected failed") == 2 })
        scene.world.settle()
        #expect(!isKept())
    }

    @Test("A connection that is given up before its loss was heard of is not kept")
    func givenUpUnheard() throws {
        let scene = Scene()
        let queue = DispatchQueue(label: "pocket")
        scene.launchDoor()
        scene.pocket.launchApp { scene.key = Key($0, queue: queue) }
        #expect(scene.run(beside: queue) { scene.key?.has("characteristics") == true })
        let key = try #require(scene.key)
        let peripheral = try #require(key.door)
        queue.suspend()
        scene.world.cut(scene.lock, scene.pocket)
        #expect(scene.world.run { scene.door?.links == 0 && scene.pocket.host?.link(of: peripheral.peer) == nil })
        #expect(scene.keepsConnection)
        key.manager?.cancelPeripheralConnection(peripheral)
        scene.world.settle()
        #expect(!scene.keepsConnection)
        queue.resume()
        queue.sync {}
    }

    @Test("A manager that hears of a loss inside its iteration has nothing on the disk that waits for its hearing")
    func heardInline() throws {
        let scene = Scene()
        try scene.start()
        let key = try #require(scene.key)
        scene.world.cut(scene.lock, scene.pocket)
        #expect(scene.world.run { key.has("disconnected failed") })
        #expect(!scene.keepsConnection)
    }

    @Test("A bonded key commands by signed write from kept handles on an unencrypted link, with a rising counter")
    func signedWrites() throws {
        let scene = Scene()
        try scene.start()
        try scene.pair()
        scene.killKey()
        scene.world.run { scene.door?.links == 0 }
        scene.launchKey()
        let key = try #require(scene.key)
        #expect(scene.world.run { key.has("connected") && scene.door?.links == 1 })
        let writable = try #require(key.characteristic(Door.writable))
        for octet in UInt8(1)...2 { key.door?.writeSignedValue(Data([octet]), for: writable) }
        let door = try #require(scene.door)
        #expect(scene.world.run { door.requests.count == 2 })
        #expect(door.requests.map(\.value) == [Data([1]), Data([2])])
        let counters = try key.counters.map { try #require($0) }
        #expect(counters.count == 2 && counters[0] < counters[1])
        #expect(door.requests.map(\.writePath) == counters.map { .signed(counter: $0) })
    }

    @Test("A bonded key that withdraws its wish for a connection forgets nothing of the door")
    func withdrawnConnection() throws {
        let scene = Scene()
        try scene.start()
        try scene.pair()
        try scene.subscribe()
        let key = try #require(scene.key)
        let peripheral = try #require(key.door)
        key.discovers = false
        scene.killDoor()
        #expect(scene.world.run { key.has("disconnected failed") })
        key.manager?.connect(peripheral)
        key.manager?.cancelPeripheralConnection(peripheral)
        #expect(scene.world.run { key.has("disconnected") })

        scene.launchDoor()
        key.manager?.connect(peripheral)
        #expect(scene.world.run { key.count("connected") == 2 })
        let writable = try #require(key.characteristic(Door.writable))
        peripheral.writeSignedValue(Data([7]), for: writable)
        let door = try #require(scene.door)
        #expect(scene.world.run { door.requests.map(\.value) == [Data([7])] })
        #expect(key.characteristic(Door.notifying)?.isNotifying == true)
        peripheral.encrypt()
        #expect(scene.world.run { key.isSecure })
        let notifying = try #require(door.characteristic(Door.notifying))
        #expect(door.manager?.updateValue(Data([8]), for: notifying, onSubscribedCentrals: nil) == true)
        #expect(scene.world.run { key.values.last == Data([8]) })
    }

    @Test("Without a restore identifier nothing is kept")
    func withoutIdentifier() throws {
        let scene = Scene()
        scene.launchDoor()
        scene.pocket.launchApp { scene.key = Key($0, identifier: nil) }
        #expect(scene.world.run { scene.key?.has("characteristics") == true })
        scene.killKey()
        scene.pocket.launchApp { scene.key = Key($0, identifier: nil) }
        #expect(scene.world.run { scene.key?.has("state poweredOn") == true })
        #expect(scene.key?.has("restore") == false)
    }
}
