import BluetoothCore
import BluetoothHost
import FoundationEssentials
import GATT
import Simulation
import Synchronization
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

/// A central app that does as it is told, and writes down what it hears.
private final class Watcher: CBCentralManagerCallbacks, CBPeripheralCallbacks {
    private(set) var manager: CBCentralManager?
    private(set) var log: [String] = []
    private(set) var met: CBPeripheral?
    private(set) var restored: [CBPeripheral] = []

    init(_ host: CBHost, options: [String: Any] = [:]) {
        manager = CBCentralManager(callbacks: self, delivery: .inline, options: options, host: host)
    }

    func count(_ line: String) -> Int { log.filter { $0 == line }.count }
    func has(_ line: String) -> Bool { log.contains(line) }
    func clear() { log = [] }
    func vanish() { manager = nil }

    func centralManagerDidUpdateState(_ central: CBCentralManager) { log.append("state \(central.state)") }
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
    }
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        if met == nil { log.append("met") }
        met = peripheral
        peripheral.callbacks = self
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { log.append("connected") }
    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        log.append("failed")
    }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: Double,
        isReconnecting: Bool, error: (any Error)?
    ) { log.append("disconnected, \(isReconnecting ? "reconnecting" : "over"), \(peripheral.state)") }
    func centralManager(
        _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
    ) { log.append("event \(event), \(peripheral.state)") }
    func peripheralDidUpdateName(_ peripheral: CBPeripheral) { log.append("name \(peripheral.name ?? "none")") }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        log.append("services \((peripheral.services ?? []).map(\.uuid.uuidString).sorted())")
    }
}

@Suite("Apple's behaviour", .capturesFailures)
struct AppleBehaviourTests {
    /// A door, and somebody within reach who has met it.
    private struct Yard {
        let world = World()
        let lock: Node
        let pocket: Node
        let door: Door
        let watcher: Watcher
        let peripheral: CBPeripheral
        let host: CBHost

        init(options: [String: Any] = [:], addsAlways: Bool = false, service: (() -> CBMutableService)? = nil) throws {
            lock = world.add("lock", seed: 41)
            pocket = world.add("key", seed: 42)
            var door: Door?
            var watcher: Watcher?
            var host: CBHost?
            lock.launchApp { door = Door($0, addsAlways: addsAlways, service: service ?? Door.makeService) }
            pocket.launchApp {
                host = $0
                watcher = Watcher($0, options: options)
            }
            self.door = try #require(door)
            self.watcher = try #require(watcher)
            self.host = try #require(host)
            let (aDoor, aWatcher) = (self.door, self.watcher)
            try #require(world.run { aDoor.has("advertising") && aWatcher.manager?.state == .poweredOn })
            aWatcher.manager?.scanForPeripherals(withServices: [Door.service])
            try #require(world.run { aWatcher.met != nil })
            aWatcher.manager?.stopScan()
            peripheral = try #require(aWatcher.met)
        }

        func connect(_ options: [String: Any]? = nil) throws {
            watcher.manager?.connect(peripheral, options: options)
            try #require(world.run { watcher.has("connected") })
        }
    }

    // MARK: Names and services

    @Test("Connected, a peripheral is called what its GAP service says, and the app hears of the change once")
    func name() throws {
        let yard = try Yard()
        #expect(yard.peripheral.name == "Door", "advertised")
        try yard.connect()
        #expect(yard.world.run { yard.watcher.has("name lock") })
        #expect(yard.peripheral.name == "lock")
        yard.world.run(forMilliseconds: 2_000)
        #expect(yard.watcher.log.filter { $0.hasPrefix("name") } == ["name lock"])
        // What is advertised later does not take the name away again.
        yard.watcher.manager?.cancelPeripheralConnection(yard.peripheral)
        yard.watcher.manager?.scanForPeripherals(
            withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        yard.world.run(forMilliseconds: 3_000)
        #expect(yard.peripheral.name == "lock")
    }

    @Test("In the next life a peripheral that was connected to once is found again by its identifier, with its name")
    func retrievedInAnotherLife() throws {
        let yard = try Yard()
        try yard.connect()
        #expect(yard.world.run { yard.peripheral.name == "lock" })
        yard.watcher.manager?.cancelPeripheralConnection(yard.peripheral)
        yard.world.settle()
        let identifier = yard.peripheral.identifier
        yard.pocket.kill()
        yard.watcher.vanish()
        var again: Watcher?
        yard.pocket.launchApp { again = Watcher($0) }
        let watcher = try #require(again)
        #expect(yard.world.run { watcher.has("state poweredOn") })
        let found = try #require(watcher.manager?.retrievePeripherals(withIdentifiers: [identifier, UUID()]))
        #expect(found.map(\.identifier) == [identifier])
        #expect(found.first?.name == "lock")
        // And what calls of other threads look at says the same.
        let known = watcher.manager?.core.peripherals.withLock { $0.known[PeerIdentifier(identifier)]?.name }
        #expect(known == "lock")
        watcher.manager?.connect(try #require(found.first))
        #expect(yard.world.run { watcher.has("connected") })
    }

    @Test(
        "Discovery without a filter hides Generic Access and Generic Attribute, unless the app wants them or asks by name"
    )
    func genericServices() throws {
        let yard = try Yard()
        try yard.connect()
        yard.peripheral.discoverServices(nil)
        #expect(yard.world.run { yard.watcher.has("services [\"FFF0\"]") })
        yard.peripheral.discoverServices([CBUUID(string: "1801")])
        #expect(yard.world.run { yard.watcher.has("services [\"1801\", \"FFF0\"]") })

        let open = try Yard(options: [CBCentralManagerOptionShowsGenericServicesKey: true])
        try open.connect()
        open.peripheral.discoverServices(nil)
        #expect(open.world.run { open.watcher.has("services [\"1800\", \"1801\", \"FFF0\"]") })
    }

    @Test("Two equal services stand side by side, for the central too, and both are the app's again in the next life")
    func equalServices() throws {
        let yard = try Yard()
        let second = Door.makeService()
        yard.door.manager?.add(second)
        #expect(yard.world.run { yard.door.log.filter { $0 == "added FFF0" }.count == 2 })
        #expect(second.range != yard.door.published?.range)
        try yard.connect()
        yard.peripheral.discoverServices([Door.service])
        #expect(yard.world.run { yard.watcher.has("services [\"FFF0\", \"FFF0\"]") })
        let handles = [yard.door.published?.range, second.range]
        yard.lock.kill()
        yard.door.vanish()
        var again: Door?
        yard.lock.launchApp { again = Door($0) }
        let door = try #require(again)
        #expect(
            (door.restored[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService])?.map(\.range) == handles
        )
        let services = [Door.makeService(), Door.makeService()]
        #expect(yard.world.run { door.has("state poweredOn") })
        for service in services { door.manager?.add(service) }
        yard.world.settle()
        #expect(services.map(\.range) == handles)
    }

    // MARK: The adapter's power

    @Test(
        "A lost controller ends the connection, and the wish for it stands: the app hears that it is made again, once")
    func reset() throws {
        let yard = try Yard()
        try yard.connect()
        yard.watcher.clear()
        yard.pocket.loseController()
        #expect(yard.world.run { yard.watcher.has("connected") })
        yard.world.run(forMilliseconds: 3_000)
        #expect(
            yard.watcher.log.filter { !$0.hasPrefix("name") } == [
                "state resetting", "disconnected, reconnecting, connecting", "state poweredOn", "connected",
            ])
    }

    @Test(
        "An app that adds its services and advertises whenever the adapter comes on has what it had, without an error")
    func addedAgain() throws {
        // The same objects each time, and fresh ones each time.
        let kept = Door.makeService()
        for makesFresh in [false, true] {
            let yard = try Yard(addsAlways: true, service: makesFresh ? Door.makeService : { kept })
            let handles = yard.door.published?.range
            yard.lock.loseController()
            #expect(yard.world.run { yard.door.log.filter { $0 == "advertising" }.count == 2 })
            let sequence = ["state poweredOn", "added FFF0", "advertising"]
            #expect(yard.door.log == sequence + ["state resetting"] + sequence)
            #expect(yard.door.published?.range == handles && handles != nil)
            #expect(yard.lock.host?.publishedServices(of: try #require(yard.door.manager?.core.id)).count == 1)
            // Once more without another absence it is what it always was.
            yard.door.manager?.startAdvertising(nil)
            yard.world.settle()
            #expect(yard.door.log.last == "advertising \(CBError.Code.alreadyAdvertising.rawValue)")
            if !makesFresh {
                yard.door.manager?.add(kept)
                yard.world.settle()
                #expect(yard.door.has("added FFF0 failed"))
            }
        }
    }

    @Test(
        "With the option, what the app has asked for ends with the adapter, and nothing is heard but the state and the link"
    )
    func endsWithPower() throws {
        let yard = try Yard(options: [CBManagerOptionEndsWithPowerKey: true])
        try yard.connect()
        let manager = try #require(yard.watcher.manager)
        manager.scanForPeripherals(withServices: [CBUUID(string: "AAAA")])
        yard.world.settle()
        yard.watcher.clear()
        yard.pocket.loseController()
        #expect(yard.world.run { yard.watcher.has("state poweredOn") })
        yard.world.run(forMilliseconds: 5_000)
        #expect(yard.watcher.log == ["state resetting", "disconnected, over, disconnected", "state poweredOn"])
        #expect(!manager.isScanning && yard.peripheral.state == .disconnected)
        #expect(yard.door.links == 0)

        // One that was only waited for says nothing at all.
        yard.lock.kill()
        manager.connect(yard.peripheral)
        yard.world.settle()
        #expect(yard.peripheral.state == .connecting)
        yard.watcher.clear()
        yard.pocket.loseController()
        #expect(yard.world.run { yard.watcher.has("state poweredOn") })
        #expect(yard.watcher.log == ["state resetting", "state poweredOn"])
        #expect(yard.peripheral.state == .disconnected)
        yard.door.vanish()
        yard.lock.launchApp { _ = Door($0) }
        yard.world.run(forMilliseconds: 5_000)
        #expect(!yard.watcher.has("connected"))
    }

    @Test("With the option, services and advertising of a peripheral manager end with the adapter")
    func servicesEndWithPower() throws {
        let world = World()
        let lock = world.add("lock", seed: 43)
        final class Server: CBPeripheralManagerCallbacks {
            var manager: CBPeripheralManager?
            func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
        }
        let server = Server()
        lock.launchApp { host in
            server.manager = CBPeripheralManager(
                callbacks: server, delivery: .inline,
                options: [
                    CBManagerOptionEndsWithPowerKey: true, CBPeripheralManagerOptionRestoreIdentifierKey: "server",
                ], host: host)
        }
        let manager = try #require(server.manager)
        #expect(world.run { manager.state == .poweredOn })
        let service = Door.makeService()
        manager.add(service)
        manager.startAdvertising(nil)
        #expect(world.run { manager.isAdvertising })
        lock.loseController()
        #expect(world.run { manager.state == .poweredOn && !manager.isAdvertising })
        #expect(service.range == nil)
        let id = try #require(manager.core.id)
        #expect(lock.host?.publishedServices(of: id).isEmpty == true)
        #expect(lock.host?.isAdvertising(id) == false)
        manager.add(service)
        manager.startAdvertising(nil)
        #expect(world.run { manager.isAdvertising && service.range != nil })
    }

    // MARK: Connections

    @Test("With auto reconnect a lost link is told as reconnecting and made again; taken back, it is not")
    func autoReconnect() throws {
        let yard = try Yard(options: [CBCentralManagerOptionRestoreIdentifierKey: "watcher"])
        try yard.connect([CBConnectPeripheralOptionEnableAutoReconnect: true])
        yard.watcher.clear()
        yard.world.cut(yard.lock, yard.pocket)
        #expect(yard.world.run { yard.watcher.log.contains { $0.hasPrefix("disconnected") } })
        #expect(yard.watcher.log.last == "disconnected, reconnecting, connecting")
        yard.world.join(yard.lock, yard.pocket)
        #expect(yard.world.run { yard.watcher.has("connected") })
        #expect(yard.watcher.count("connected") == 1)

        // The wish is on disk with its option: another life goes on with it.
        yard.pocket.kill()
        yard.watcher.vanish()
        var again: Watcher?
        yard.pocket.launchApp {
            again = Watcher($0, options: [CBCentralManagerOptionRestoreIdentifierKey: "watcher"])
        }
        let watcher = try #require(again)
        #expect(yard.world.run { watcher.has("connected") })
        yard.world.cut(yard.lock, yard.pocket)
        #expect(yard.world.run { watcher.has("disconnected, reconnecting, connecting") })
        yard.world.join(yard.lock, yard.pocket)
        #expect(yard.world.run { watcher.count("connected") == 2 })
        watcher.manager?.cancelPeripheralConnection(try #require(watcher.restored.first))
        #expect(yard.world.run { watcher.has("disconnected, over, disconnected") })
        yard.world.run(forMilliseconds: 5_000)
        #expect(watcher.count("connected") == 2 && yard.door.links == 0)
    }

    @Test("Without it a lost link is the end of the connection")
    func noReconnect() throws {
        let yard = try Yard()
        try yard.connect()
        yard.world.cut(yard.lock, yard.pocket)
        #expect(yard.world.run { yard.watcher.has("disconnected, over, disconnected") })
        yard.world.join(yard.lock, yard.pocket)
        yard.world.run(forMilliseconds: 5_000)
        #expect(yard.watcher.count("connected") == 1)
    }

    @Test("With a start delay nothing is done about the connection before, and a delay that was taken back is over")
    func startDelay() throws {
        let yard = try Yard()
        let manager = try #require(yard.watcher.manager)
        manager.connect(yard.peripheral, options: [CBConnectPeripheralOptionStartDelayKey: 4.2])
        #expect(!yard.world.run(forMilliseconds: 4_900) { yard.watcher.has("connected") })
        #expect(yard.peripheral.state == .connecting && yard.door.links == 0)
        #expect(yard.world.run(forMilliseconds: 2_000) { yard.watcher.has("connected") })

        manager.cancelPeripheralConnection(yard.peripheral)
        #expect(yard.world.run { yard.door.links == 0 })
        yard.watcher.clear()
        manager.connect(yard.peripheral, options: [CBConnectPeripheralOptionStartDelayKey: 3_600])
        manager.cancelPeripheralConnection(yard.peripheral)
        manager.connect(yard.peripheral)
        #expect(yard.world.run { yard.watcher.has("connected") })
    }

    @Test(
        "Who else is connected: found by a service that another manager discovered, and told to who wants to hear of it"
    )
    func connectedToOthers() throws {
        let yard = try Yard()
        let other = Watcher(yard.host)
        let quiet = Watcher(yard.host)
        yard.world.settle()
        let manager = try #require(other.manager)
        #expect(manager.state == .poweredOn)
        manager.registerForConnectionEvents(options: [.serviceUUIDs: [Door.service]])
        quiet.manager?.registerForConnectionEvents(options: [.peripheralUUIDs: [UUID()]])
        try yard.connect()
        yard.world.run(forMilliseconds: 1_000)
        #expect(other.log == ["state poweredOn"], "nobody knows yet what the peer has")
        #expect(manager.retrieveConnectedPeripherals(withServices: [Door.service]).isEmpty)
        yard.peripheral.discoverServices([Door.service])
        #expect(yard.world.run { other.has("event peerConnected, disconnected") })
        let found = manager.retrieveConnectedPeripherals(withServices: [Door.service, CBUUID(string: "AAAA")])
        #expect(found.map(\.identifier) == [yard.peripheral.identifier])
        #expect(manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "AAAA")]).isEmpty)
        // For this manager it is connected once it asks.
        let mine = try #require(found.first)
        #expect(mine !== yard.peripheral && mine.state == .disconnected)
        manager.connect(mine)
        #expect(yard.world.run { other.has("connected") })

        yard.watcher.manager?.cancelPeripheralConnection(yard.peripheral)
        manager.cancelPeripheralConnection(mine)
        #expect(yard.world.run { other.has("event peerDisconnected, disconnected") })
        #expect(manager.retrieveConnectedPeripherals(withServices: [Door.service]).isEmpty)
        #expect(other.log.filter { $0.hasPrefix("event") }.count == 2)
        #expect(quiet.log == ["state poweredOn"])

        // A tree that is kept is known at once, and nobody hears who has said that it wants to hear no more.
        manager.registerForConnectionEvents()
        other.clear()
        try yard.connect()
        yard.world.run(forMilliseconds: 1_000)
        #expect(other.log.isEmpty)
        #expect(!manager.retrieveConnectedPeripherals(withServices: [Door.service]).isEmpty)
    }
}
