import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import LockProtocol
import SecurityManager
import Simulation
import Testing

/// An app on a key's host: encrypts with the key's bond and asks the lock's control points. It makes each link that it loses anew.
final class RemoteManager: CBCentralManagerCallbacks, CBPeripheralLinkDelegate, @unchecked Sendable {
    private static let told = [LockUUID.lockControlPoint, LockUUID.recordAccessControlPoint, LockUUID.auditRecord]

    private let address: DeviceAddress
    private let subscriptions: Set<BluetoothUUID>
    private let hearsAlarms: Bool
    private var manager: CBCentralManager?
    private var lock: CBPeripheral?
    private var found: [BluetoothUUID: CBCharacteristic] = [:]
    /// It has looked at the lock, and hears all that it wants to hear.
    private(set) var isReady = false
    private(set) var capabilities: Capabilities?
    private(set) var answers: [ControlPointResponse] = []
    private(set) var recordAnswers: [RecordAccessResponse] = []
    /// Values of Audit Record.
    private(set) var parts: [[UInt8]] = []
    private(set) var linksLost = 0
    /// What each request was answered by ATT: nil for a Write Response.
    private(set) var writes: [Int?] = []
    /// Whether it has subscribed to alarms.
    private(set) var isListening = false
    /// As they were notified, and read.
    private(set) var alarms: [AlarmValue] = []
    /// Why reading the last one failed.
    private(set) var alarmErrors: [Int] = []
    /// The one that was read last.
    private(set) var challenge: Challenge?
    /// What a read of Lock State was answered: nil for a value.
    private(set) var stateReads: [Int?] = []

    init(
        _ bluetooth: CBHost, _ address: DeviceAddress, subscribes: Set<BluetoothUUID> = [LockUUID.lockControlPoint],
        hearsAlarms: Bool = false
    ) {
        self.address = address
        subscriptions = subscribes
        self.hearsAlarms = hearsAlarms
        manager = CBCentralManager(callbacks: self, delivery: .inline, host: bluetooth)
    }

    func ask(_ procedure: ControlPointProcedure) { write(procedure.encoded, to: LockUUID.lockControlPoint) }

    func ask(_ procedure: RecordAccessProcedure) { write(procedure.encoded, to: LockUUID.recordAccessControlPoint) }

    func write(_ octets: [UInt8], to uuid: BluetoothUUID) {
        guard let characteristic = found[uuid] else { return }
        lock?.writeValue(Data(octets), for: characteristic, type: .withResponse)
    }

    /// Hears of a characteristic no more, or again.
    func listen(_ isOn: Bool, to uuid: BluetoothUUID) {
        if let characteristic = found[uuid] { lock?.setNotifyValue(isOn, for: characteristic) }
    }

    func read(_ uuid: BluetoothUUID) { if let characteristic = found[uuid] { lock?.readValue(for: characteristic) } }

    func readAlarm() { if let alarm = found[LockUUID.alarm] { lock?.readValue(for: alarm) } }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn, let peripheral = central.peripheral(at: address) else { return }
        lock = peripheral
        peripheral.callbacks = self
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { peripheral.encrypt() }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        isReady = false
        found = [:]
        linksLost += 1
        central.connect(peripheral)
    }

    func peripheral(_ peripheral: CBPeripheral, didChangeSecurity link: LinkInfo, error: HostError?) {
        if error == nil, link.isProven { peripheral.discoverServices([CBUUID(LockUUID.lockService)]) }
    }

    func peripheral(_ peripheral: CBPeripheral, didPair result: Result<BondID, HostError>) {}

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        for characteristic in service.characteristics ?? [] {
            found[characteristic.uuid.bluetoothUUID] = characteristic
            if characteristic.uuid == CBUUID(LockUUID.capabilities) { peripheral.readValue(for: characteristic) }
        }
        // What the key's bond has asked for before counts for this app, too.
        for uuid in Self.told { listen(subscriptions.contains(uuid), to: uuid) }
        if hearsAlarms { listen(true, to: LockUUID.alarm) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        if characteristic.uuid == CBUUID(LockUUID.alarm) {
            isListening = error == nil && characteristic.isNotifying
        } else {
            isReady = error == nil && Self.told.allSatisfy { found[$0]?.isNotifying == subscriptions.contains($0) }
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        writes.append(error.map { $0._code })
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if characteristic.uuid == CBUUID(LockUUID.alarm), let error { return alarmErrors.append(error._code) }
        if characteristic.uuid == CBUUID(LockUUID.lockState) { stateReads.append(error.map { $0._code }) }
        guard error == nil, let value = characteristic.value.map({ Array($0) }) else { return }
        switch characteristic.uuid.bluetoothUUID {
        case LockUUID.lockControlPoint:
            if let answer = try? ControlPointResponse(exactly: value) { answers.append(answer) }
        case LockUUID.recordAccessControlPoint:
            if let answer = try? RecordAccessResponse(exactly: value) { recordAnswers.append(answer) }
        case LockUUID.auditRecord: parts.append(value)
        case LockUUID.challenge: challenge = try? Challenge(exactly: value)
        case LockUUID.capabilities: capabilities = try? Capabilities(exactly: value)
        case LockUUID.alarm: if let value = try? AlarmValue(exactly: value) { alarms.append(value) }
        default: break
        }
    }
}

extension Household {
    /// An app in the place of the key's daemon, once it has looked at the lock and hears what it wants to hear.
    func launchManager(
        subscribes: Set<BluetoothUUID> = [LockUUID.lockControlPoint], hearsAlarms: Bool = false
    ) throws -> RemoteManager {
        killKey()
        let address = try #require(door.host?.identity.address.address)
        var manager: RemoteManager?
        pocket.launchApp {
            manager = RemoteManager($0, address, subscribes: subscribes, hearsAlarms: hearsAlarms)
        }
        let launched = try #require(manager)
        try #require(
            world.run(forMilliseconds: 30_000) {
                launched.isReady && launched.capabilities != nil && launched.isListening == hearsAlarms
            })
        return launched
    }
}
