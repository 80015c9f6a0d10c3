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

/// An app on a key's host: encrypts with the key's bond, reads Lock State and listens to it.
private final class StateReader: CBCentralManagerCallbacks, CBPeripheralLinkDelegate, @unchecked Sendable {
    private var manager: CBCentralManager?
    private var lock: CBPeripheral?
    enum Answer: Equatable {
        case value
        case refused(code: Int)
    }

    private let address: DeviceAddress
    private(set) var read: Answer?
    private(set) var isSubscribed = false
    private(set) var isSecure: Bool?

    init(_ bluetooth: CBHost, _ address: DeviceAddress) {
        self.address = address
        manager = CBCentralManager(callbacks: self, delivery: .inline, host: bluetooth)
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn, let peripheral = central.peripheral(at: address) else { return }
        lock = peripheral
        peripheral.callbacks = self
        central.connect(peripheral)
    }

    func readAgain() {
        let service = lock?.services?.first { $0.uuid == CBUUID(LockUUID.lockService) }
        let state = service?.characteristics?.first { $0.uuid == CBUUID(LockUUID.lockState) }
        read = nil
        if let state { lock?.readValue(for: state) }
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { peripheral.encrypt() }

    func peripheral(_ peripheral: CBPeripheral, didChangeSecurity link: LinkInfo, error: HostError?) {
        isSecure = error == nil && link.isProven
        if isSecure == true { peripheral.discoverServices([CBUUID(LockUUID.lockService)]) }
    }

    func peripheral(_ peripheral: CBPeripheral, didPair result: Result<BondID, HostError>) {}

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] {
            peripheral.discoverCharacteristics([CBUUID(LockUUID.lockState)], for: service)
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        for characteristic in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: characteristic) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        isSubscribed = characteristic.isNotifying
        peripheral.readValue(for: characteristic)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error {
            read = .refused(code: error._code)
        } else if read == nil {
            read = .value
        }
    }
}

@Suite("Revocation, on the air", .capturesFailures)
struct RevocationTests {
    private static func launchKey(_ pocket: Node) -> KeyDaemon? {
        var key: KeyDaemon?
        pocket.launchApp { bluetooth in
            guard let host = pocket.host else { return }
            key = try? KeyDaemon(
                .init(restoreIdentifier: "key", boot: BootID(bits: 1), unlocksWhenNear: false), host: host,
                bluetooth: bluetooth, store: MemoryKeyStore(), observe: { _ in })
        }
        return key
    }

    /// The household's key, as a reader of Lock State in its place.
    private static func launchReader(_ household: Household) throws -> StateReader {
        household.killKey()
        let address = try #require(household.door.host?.identity.address.address)
        var reader: StateReader?
        household.pocket.launchApp { reader = StateReader($0, address) }
        return try #require(reader)
    }

    @Test(
        "A device that another one replaced under its name loses its bond with the other's promotion, and hears nothing"
    )
    func replacedDevice() throws {
        let household = try Household()
        let world = household.world
        try household.enrollToTheEnd("alice")
        let former = household.door.host?.bonds.map(\.id) ?? []
        #expect(former.count == 1)

        household.killKey()
        try household.openWindow("alice")
        let phone = world.add("phone", seed: 53)
        let key = Self.launchKey(phone)
        world.run(forMilliseconds: 1_000)
        let code = try #require(household.code)
        var isEnrolled = false
        household.call(phone) {
            key?.enroll(code, waitMilliseconds: 60_000) { if case .enrolled = $0 { isEnrolled = true } }
        }
        try #require(world.run(forMilliseconds: 60_000) { isEnrolled })
        let bonds = household.door.host?.bonds ?? []
        #expect(bonds.count == 1 && !former.contains(bonds[0].id))
        #expect(bonds.map(\.id) == household.lock?.status.credentials.compactMap(\.bond))

        let reader = try Self.launchReader(household)
        world.run(forMilliseconds: 30_000) { reader.isSecure != nil }
        #expect(reader.isSecure == false)
        #expect(reader.read == nil && !reader.isSubscribed)
    }

    @Test("Lock State is read, and told, while the credential is enabled, and not otherwise")
    func lockState() throws {
        let household = try Household()
        let world = household.world
        try household.enrollToTheEnd("alice")
        let reader = try Self.launchReader(household)
        try #require(world.run(forMilliseconds: 30_000) { reader.read != nil })
        #expect(reader.read == .value)
        func administer(_ act: CredentialChange) throws {
            #expect(try household.call(household.door) { try household.lock?.administer("alice", act) } == true)
        }
        try administer(.disabled)
        reader.readAgain()
        try #require(world.run(forMilliseconds: 5_000) { reader.read != nil })
        #expect(reader.read == .refused(code: CBATTError.Code.insufficientAuthorization.rawValue))
        try administer(.enabled)
        reader.readAgain()
        try #require(world.run(forMilliseconds: 5_000) { reader.read != nil })
        #expect(reader.read == .value)
    }

    @Test(
        "Removed: the bond is gone and its link ended in the iteration that removes it; the key opens nothing any more")
    func removed() throws {
        let household = try Household()
        let world = household.world
        try household.enrollToTheEnd("alice")
        let reader = try Self.launchReader(household)
        try #require(world.run(forMilliseconds: 30_000) { reader.isSubscribed })
        let sent = household.door.sent.count
        #expect(try household.call(household.door) { try household.lock?.administer("alice", .removed) } == true)
        #expect(household.door.host?.bonds.isEmpty == true && household.lock?.status.credentials.isEmpty == true)
        // HCI Disconnect.
        #expect(household.door.sent[sent...].contains { $0.prefix(3) == [1, 0x06, 0x04] })
        #expect(world.run(forMilliseconds: 3_000) { household.lock?.status.links.isEmpty == true })
        #expect(throws: RevocationRefusal.unknown("alice", known: [])) {
            try household.call(household.door) { try household.lock?.administer("alice", .disabled) }
        }
        household.launchKey()
        world.run(forMilliseconds: 1_000)
        #expect(!household.isObeyed())
    }

    @Test("Removed while its window is open, or its bond is unconfirmed: the window closes, and nobody is enrolled")
    func removedInTheMiddle() throws {
        let household = try Household()
        let world = household.world
        try household.openWindow("alice")
        try household.enroll()
        try #require(world.run(forMilliseconds: 30_000) { household.isPairedOnBothSides })
        #expect(try household.call(household.door) { try household.lock?.administer("alice", .removed) } == true)
        #expect(household.lock?.status.enrolling == nil)
        world.run(forMilliseconds: 120_000)
        #expect(!household.isEnrolled)
        #expect(household.door.host?.bonds.isEmpty == true && household.lock?.status.credentials.isEmpty == true)
    }

    @Test("A bond that no credential names, as an earlier version left it, is gone after the launch")
    func orphan() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        household.killLock()
        for id in household.lockStore.committed.credentials.keys {
            household.lockStore.append(.credentialRemoved(id))
        }
        household.lockStore.didCommit()
        household.launchLock()
        household.world.run(forMilliseconds: 2_000)
        household.searchForOrphans()
        #expect(household.door.host?.bonds.isEmpty == true)
    }

    @Test("A bond that no credential names, and comes before the launch has searched for it, is no better off")
    func earlyOrphan() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        #expect(household.isObeyed())
        household.killLock()
        for id in household.lockStore.committed.credentials.keys {
            household.lockStore.append(.credentialRemoved(id))
        }
        household.lockStore.didCommit()
        household.launchLock()
        #expect(household.door.host?.bonds.count == 1)
        #expect(!household.isObeyed())
        #expect(household.door.host?.bonds.isEmpty == true)
    }

    @Test("The search leaves who has a credential alone, however long the list, and whether or not it was asked for")
    func noOrphan() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        household.killLock()
        household.launchLock()
        household.world.run(forMilliseconds: 2_000)
        household.searchForOrphans()
        #expect(household.door.host?.bonds.count == 1)
        #expect(household.isObeyed())
    }
}
