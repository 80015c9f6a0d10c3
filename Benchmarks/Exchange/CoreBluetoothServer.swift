import CoreBluetoothEssentials
import FoundationEssentials

/// The same server on Apple's API, with its delegate inline on the loop, as the lock has it.
final class CoreBluetoothServer: CBPeripheralManagerCallbacks {
    private var manager: CBPeripheralManager?
    private let notifying = CBMutableCharacteristic(
        type: CBUUID(Exchange.notifying), properties: .notify, value: nil, permissions: .readable)
    private let value = Data(Exchange.value)
    private var isSubscribed = false

    init(_ bluetooth: CBHost) { manager = CBPeripheralManager(callbacks: self, delivery: .inline, host: bluetooth) }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        let readable = CBMutableCharacteristic(
            type: CBUUID(Exchange.readable), properties: .read, value: nil, permissions: .readable)
        let writable = CBMutableCharacteristic(
            type: CBUUID(Exchange.writable), properties: [.write, .writeWithoutResponse], value: nil,
            permissions: .writeable)
        let service = CBMutableService(type: CBUUID(Exchange.service), primary: true)
        service.characteristics = [readable, writable, notifying]
        peripheral.add(service)
        peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CBUUID(Exchange.service)]])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        request.value = value
        peripheral.respond(to: request, withResult: .success)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        peripheral.respond(to: requests[0], withResult: .success)
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        isSubscribed = true
        push(peripheral)
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        isSubscribed = false
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { push(peripheral) }

    private func push(_ peripheral: CBPeripheralManager) {
        guard isSubscribed else { return }
        while peripheral.updateValue(value, for: notifying, onSubscribedCentrals: nil) {}
    }
}
