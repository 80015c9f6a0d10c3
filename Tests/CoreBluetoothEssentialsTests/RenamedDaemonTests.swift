import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import GATT
import LockPeripheral
import LockProtocol
import Simulation
import Testing
import VirtualRadio
import WorldSupport

/// An operator gives a daemon another `restore_id`: what it asked for under the old one is nobody's.
@Suite("A daemon under another restore identifier", .capturesFailures)
struct RenamedDaemonTests {
    /// Hears every advertisement of one name, and sees whose service is where.
    private final class Passer: CBCentralManagerCallbacks, @unchecked Sendable {
        private var manager: CBCentralManager?
        private(set) var heard: [String] = []

        init(_ bluetooth: CBHost) { manager = CBCentralManager(callbacks: self, delivery: .inline, host: bluetooth) }

        func forget() { heard = [] }

        func centralManagerDidUpdateState(_ central: CBCentralManager) {
            guard central.state == .poweredOn else { return }
            central.scanForPeripherals(withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        }

        func centralManager(
            _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
            rssi RSSI: Int
        ) {
            if let name = advertisementData[CBAdvertisementDataLocalNameKey] as? String { heard.append(name) }
        }
    }

    /// The lock services in the tree that a stranger discovers now.
    private func lockServices(_ home: Household) throws -> Int {
        let scene = home.world.add("visitor", seed: UInt64(home.world.nodes.count) + 200)
        var visitor: Visitor?
        scene.launchApp { visitor = Visitor($0) }
        try #require(home.world.run(forMilliseconds: 20_000) { visitor?.services != nil })
        let count = try #require(visitor?.services).count { $0 == CBUUID(LockUUID.lockService) }
        visitor = nil
        scene.kill()
        home.world.run(forMilliseconds: 3_000)
        return count
    }

    @Test("Behind the grace one lock service and one advertisement are on the air, and the enrolled key is obeyed")
    func lock() throws {
        let home = try Household()
        try home.enrollToTheEnd("anna")
        home.killLock()
        home.launchLock(restoreIdentifier: "front")
        home.world.run(forMilliseconds: 35_000)
        #expect(try lockServices(home) == 1)
        #expect(home.isObeyed())
        // No later life brings the old one back, not even for a while.
        home.killLock()
        home.launchLock(restoreIdentifier: "front")
        home.world.run(forMilliseconds: 2_000)
        #expect(try lockServices(home) == 1)
        #expect(home.isObeyed())
        // Its name does.
        home.killLock()
        home.launchLock()
        home.world.run(forMilliseconds: 35_000)
        #expect(try lockServices(home) == 1)
        #expect(home.isObeyed())
    }

    @Test("A key under another name opens at once and behind the grace, and asks for its lock once")
    func key() throws {
        let home = try Household()
        try home.enrollToTheEnd("anna")
        home.killKey()
        home.launchKey(restoreIdentifier: "coat")
        home.world.run(forMilliseconds: 2_000)
        #expect(home.isObeyed())
        home.world.run(forMilliseconds: 35_000)
        #expect(home.isObeyed())
        let kept = home.pocket.store.load().restorations
        #expect(kept.filter { $0.value.rest == nil }.keys.allSatisfy { $0.identifier == "coat" })
    }

    @Test(
        "Behind the grace only the new one's advertisement is heard, on controllers with one set and with several",
        arguments: [ControllerGeneration.core40, .core54])
    func advertisement(_ generation: ControllerGeneration) throws {
        let world = World()
        let house = world.add("house", seed: 5, hardware: ControllerConfiguration(generation: generation))
        var door: Caller?
        house.launchApp { door = Caller($0, "alpha") }
        try #require(world.run { door?.isAdvertising == true })
        house.kill()
        house.launchApp { door = Caller($0, "beta") }
        let street = world.add("street", seed: 6)
        var passer: Passer?
        street.launchApp { passer = Passer($0) }
        // Whoever is there goes first, also where the controller has room for one.
        #expect(world.run(forMilliseconds: 5_000) { passer?.heard.contains("beta") == true })
        world.run(forMilliseconds: 31_000)
        passer?.forget()
        world.run(forMilliseconds: 5_000)
        #expect(passer.map { Set($0.heard) } == ["beta"])
        withExtendedLifetime(door) {}
    }
}

/// Advertises a name of its own, in every life.
private final class Caller: CBPeripheralManagerCallbacks, @unchecked Sendable {
    private var manager: CBPeripheralManager?
    private let name: String
    private(set) var isAdvertising = false

    init(_ bluetooth: CBHost, _ name: String) {
        self.name = name
        manager = CBPeripheralManager(
            callbacks: self, delivery: .inline, options: [CBPeripheralManagerOptionRestoreIdentifierKey: name],
            host: bluetooth)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        peripheral.startAdvertising([CBAdvertisementDataLocalNameKey: name])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {}
    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        isAdvertising = error == nil
    }
}

/// Connects to the first lock that it hears and discovers it.
private final class Visitor: CBCentralManagerCallbacks, CBPeripheralCallbacks, @unchecked Sendable {
    private var manager: CBCentralManager?
    private var lock: CBPeripheral?
    private(set) var services: [CBUUID]?

    init(_ bluetooth: CBHost) { manager = CBCentralManager(callbacks: self, delivery: .inline, host: bluetooth) }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn {
            central.scanForPeripherals(withServices: [CBUUID(LockUUID.lockService)])
        }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        guard lock == nil else { return }
        lock = peripheral
        peripheral.callbacks = self
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices(nil)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        services = peripheral.services?.map(\.uuid)
    }
}
