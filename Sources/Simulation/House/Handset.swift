import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import LockProtocol
import SecurityManager

/// Software of somebody's own on the machine that has his key: it encrypts with the key's bond, and writes to the lock what it is told to.
final class Handset: CBCentralManagerCallbacks, CBPeripheralLinkDelegate, @unchecked Sendable {
    enum News {
        case ready
        case lost
        /// A write was answered.
        case written(BluetoothUUID, isRefused: Bool)
        /// A value was read, notified or indicated; nil: it may not be read.
        case value(BluetoothUUID, [UInt8]?)
    }

    private static let heard = [
        LockUUID.lockControlPoint, LockUUID.lockState, LockUUID.recordAccessControlPoint, LockUUID.auditRecord,
    ]

    private let address: DeviceAddress
    private let tell: (News) -> Void
    private var manager: CBCentralManager?
    private var lock: CBPeripheral?
    private var found: [BluetoothUUID: CBCharacteristic] = [:]
    private var awaited: Set<BluetoothUUID> = []
    private var isReady = false

    init(_ bluetooth: CBHost, _ address: DeviceAddress, _ tell: @escaping (News) -> Void) {
        self.address = address
        self.tell = tell
        manager = CBCentralManager(callbacks: self, delivery: .inline, isApp: false, host: bluetooth)
    }

    func write(_ octets: [UInt8], to uuid: BluetoothUUID) {
        guard let characteristic = found[uuid] else { return tell(.written(uuid, isRefused: true)) }
        lock?.writeValue(Data(octets), for: characteristic, type: .withResponse)
    }

    func read(_ uuid: BluetoothUUID) {
        guard let characteristic = found[uuid] else { return tell(.value(uuid, nil)) }
        lock?.readValue(for: characteristic)
    }

    func leave() { if let lock { manager?.cancelPeripheralConnection(lock) } }

    // MARK: The link

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn, let peripheral = central.peripheral(at: address) else { return }
        lock = peripheral
        peripheral.callbacks = self
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { peripheral.encrypt() }

    func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) { tell(.lost) }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        found = [:]
        isReady = false
        tell(.lost)
    }

    func peripheral(_ peripheral: CBPeripheral, didChangeSecurity link: LinkInfo, error: HostError?) {
        guard error == nil, link.isProven else { return leave() }
        peripheral.discoverServices([CBUUID(LockUUID.lockService)])
    }

    func peripheral(_ peripheral: CBPeripheral, didPair result: Result<BondID, HostError>) {}

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard error == nil, let services = peripheral.services, !services.isEmpty else { return leave() }
        for service in services { peripheral.discoverCharacteristics(nil, for: service) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        guard error == nil else { return leave() }
        for characteristic in service.characteristics ?? [] {
            found[characteristic.uuid.bluetoothUUID] = characteristic
        }
        awaited = []
        for uuid in Self.heard {
            guard let characteristic = found[uuid], !characteristic.isNotifying else { continue }
            awaited.insert(uuid)
            peripheral.setNotifyValue(true, for: characteristic)
        }
        beReadyIfSo()
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        awaited.remove(characteristic.uuid.bluetoothUUID)
        beReadyIfSo()
    }

    private func beReadyIfSo() {
        guard awaited.isEmpty, !isReady else { return }
        isReady = true
        tell(.ready)
    }

    // MARK: What is said

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        // The end of a link says nothing of what was written before it.
        if let error, (error as? CBATTError).map({ $0.code == .unlikelyError }) ?? true { return }
        tell(.written(characteristic.uuid.bluetoothUUID, isRefused: error != nil))
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        let value = error == nil ? characteristic.value.map { Array($0) } : nil
        tell(.value(characteristic.uuid.bluetoothUUID, value))
    }
}
