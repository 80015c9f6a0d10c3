import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import FoundationEssentials
import LockProtocol
import SecurityManager

/// An app on a key's host: encrypts with the key's bond and asks the lock's control point.
final class RemoteManager: CBCentralManagerCallbacks, CBPeripheralLinkDelegate, @unchecked Sendable {
    private let address: DeviceAddress
    private let subscribes: Bool
    private var manager: CBCentralManager?
    private var lock: CBPeripheral?
    private var controlPoint: CBCharacteristic?
    private(set) var isReady = false
    private(set) var capabilities: Capabilities?
    private(set) var answers: [ControlPointResponse] = []
    /// What each request was answered by ATT: nil for a Write Response.
    private(set) var writes: [Int?] = []

    init(_ bluetooth: CBHost, _ address: DeviceAddress, subscribes: Bool = true) {
        self.address = address
        self.subscribes = subscribes
        manager = CBCentralManager(callbacks: self, delivery: .inline, host: bluetooth)
    }

    func ask(_ procedure: ControlPointProcedure) {
        if let controlPoint { lock?.writeValue(Data(procedure.encoded), for: controlPoint, type: .withResponse) }
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn, let peripheral = central.peripheral(at: address) else { return }
        lock = peripheral
        peripheral.callbacks = self
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { peripheral.encrypt() }

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
            if characteristic.uuid == CBUUID(LockUUID.lockControlPoint) {
                controlPoint = characteristic
                peripheral.setNotifyValue(subscribes, for: characteristic)
            } else if characteristic.uuid == CBUUID(LockUUID.capabilities) {
                peripheral.readValue(for: characteristic)
            }
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) {
        isReady = error == nil && characteristic.isNotifying == subscribes
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        writes.append(error.map { $0._code })
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard error == nil, let value = characteristic.value.map({ Array($0) }) else { return }
        if characteristic === controlPoint {
            if let answer = try? ControlPointResponse(exactly: value) { answers.append(answer) }
        } else if characteristic.uuid == CBUUID(LockUUID.capabilities) {
            capabilities = try? Capabilities(exactly: value)
        }
    }
}
