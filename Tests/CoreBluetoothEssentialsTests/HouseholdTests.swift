import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import LockCentral
import LockPeripheral
import LockProtocol
import MemoryStores
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// Connects to the first lock that it hears, listens to its challenges, and answers none.
private final class SilentCaller: CBCentralManagerCallbacks, CBPeripheralCallbacks, @unchecked Sendable {
    private var manager: CBCentralManager?
    private var lock: CBPeripheral?
    private(set) var isConnected = false
    private(set) var challenges: [Data] = []

    init(_ bluetooth: CBHost) { manager = CBCentralManager(callbacks: self, delivery: .inline, host: bluetooth) }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        guard lock == nil else { return }
        lock = peripheral
        peripheral.callbacks = self
        central.stopScan()
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        isConnected = true
        peripheral.discoverServices([CBUUID(LockUUID.lockService)])
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        isConnected = false
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] {
            peripheral.discoverCharacteristics([CBUUID(LockUUID.challenge)], for: service)
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        for characteristic in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: characteristic) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let value = characteristic.value { challenges.append(value) }
    }
}

@Suite("A lock and a key", .capturesFailures)
struct HouseholdTests {
    @Test("A key is enrolled by a setup code")
    func enrolment() throws {
        let household = try Household()
        try household.openWindow("alice")
        try household.enroll()
        #expect(household.world.run(forMilliseconds: 30_000) { household.isEnrolled })
    }

    @Test("A lock that takes Key Status and never answers keeps no link: the key leaves, comes back and asks again")
    func silentLock() throws {
        let household = try Household()
        try household.openWindow("alice")
        try household.enroll()
        #expect(household.world.run(forMilliseconds: 30_000) { household.isPaired })
        // Handle Value Indication, on the attribute channel.
        household.door.wire.loses = { $0.count > 9 && $0[0] == 2 && $0[7...9] == [4, 0, 0x1D] }
        household.world.run(forMilliseconds: 60_000)
        #expect(!household.isEnrolled)
        let asked = household.links.dropFirst().filter { $0.to != nil }
        #expect(asked.count > 2)
        for link in asked {
            let lasted = link.to?.milliseconds(since: link.from) ?? 0
            #expect((KeyMachine.statusWaitMilliseconds...KeyMachine.statusWaitMilliseconds + 3_000).contains(lasted))
        }
        household.door.wire.loses = { _ in false }
        #expect(household.world.run(forMilliseconds: 30_000) { household.isEnrolled })
    }

    @Test("Recorded address: of two links under one address the lock ends the one whose time is up, and not the other")
    func oneAddressTwice() throws {
        let household = try Household()
        let world = household.world
        // One seed, one identity.
        var callers: [SilentCaller] = []
        for name in ["first", "second"] {
            world.add(name, seed: 77).launchApp { callers.append(SilentCaller($0)) }
            #expect(world.run(forMilliseconds: 3_000) { callers.last?.isConnected == true })
            if name == "first" { world.run(forMilliseconds: 3_000) }
        }
        #expect(callers[0].isConnected && household.lock?.status.links.count == 2)
        #expect(Set(household.lock?.status.links.map(\.peer) ?? []).count == 1)
        let heard = callers[0].challenges.count
        #expect(world.run(forMilliseconds: 6_000) { callers.contains { !$0.isConnected } })
        #expect(!callers[0].isConnected && callers[1].isConnected)
        #expect(callers[0].challenges.count > heard, "its own challenge is renewed, and the other's is the other's")
        #expect(callers.allSatisfy { !$0.challenges.isEmpty })
        #expect(Set(callers[0].challenges).isDisjoint(with: callers[1].challenges))
        #expect(world.run(forMilliseconds: 6_000) { !callers[1].isConnected })
    }

    @Test("A lock says from which record to which it has an audit, and which bonds wait for their keys")
    func status() throws {
        let household = try Household(auditRecordsMaximum: 3)
        try household.openWindow("alice")
        try household.enroll()
        #expect(household.world.run(forMilliseconds: 30_000) { household.isPairedOnBothSides })
        #expect(household.lock?.status.unconfirmed.map(\.credential) == ["alice"])
        #expect(household.world.run(forMilliseconds: 30_000) { household.isEnrolled })
        #expect(household.lock?.status.unconfirmed.isEmpty == true)
        for _ in 0..<3 { #expect(household.isObeyed()) }
        let kept = household.lockStore.audit.map(\.sequence)
        let range = try #require(household.lock?.status.audit)
        #expect(kept.count == 3 && range.lowerBound > 1)
        #expect(kept.first == range.lowerBound && kept.last == range.upperBound)
    }

    @Test("A credential's name may be as long as it may, one octet more opens no window, and the next one does")
    func credentialName() throws {
        let household = try Household()
        let longest = String(repeating: "a", count: CredentialRecord.nameOctetsMaximum)
        #expect(throws: EnrolmentRefusal.badName) { try household.openWindow(longest + "b") }
        try household.openWindow(longest)
        #expect(household.code != nil)
    }
}
