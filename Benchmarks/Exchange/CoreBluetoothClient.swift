import CoreBluetoothEssentials
import FoundationEssentials

/// The same client on Apple's API, with its delegates inline on the loop, as the key has it.
final class CoreBluetoothClient: CBCentralManagerCallbacks, CBPeripheralCallbacks {
    private let steps: [Workload.Step]
    private let done: () -> Void
    private var manager: CBCentralManager?
    private var peripheral: CBPeripheral?
    private var workload: Workload?
    private var characteristics: [CBUUID: CBCharacteristic] = [:]
    private let value = Data(Exchange.value)

    init(_ bluetooth: CBHost, _ steps: [Workload.Step], done: @escaping () -> Void) {
        self.steps = steps
        self.done = done
        manager = CBCentralManager(callbacks: self, delivery: .inline, host: bluetooth)
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn else { return }
        central.scanForPeripherals(withServices: [CBUUID(Exchange.service)])
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        guard self.peripheral == nil else { return }
        self.peripheral = peripheral
        peripheral.callbacks = self
        central.stopScan()
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices([CBUUID(Exchange.service)])
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        fail("the link ended: \(error as Any)")
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        guard let service = peripheral.services?.first else { fail("no service: \(error as Any)") }
        peripheral.discoverCharacteristics(nil, for: service)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        for characteristic in service.characteristics ?? [] { characteristics[characteristic.uuid] = characteristic }
        guard let readable = characteristics[CBUUID(Exchange.readable)],
            let writable = characteristics[CBUUID(Exchange.writable)],
            let notifying = characteristics[CBUUID(Exchange.notifying)]
        else { fail("the server's tree lacks something: \(error as Any)") }
        workload = Workload(steps) { [value] operation in
            switch operation {
            case .read: peripheral.readValue(for: readable)
            case .write: peripheral.writeValue(value, for: writable, type: .withResponse)
            case .command:
                for _ in 0..<Workload.commandsPerRead {
                    peripheral.writeValue(value, for: writable, type: .withoutResponse)
                }
                peripheral.readValue(for: readable)
            case .notification: peripheral.setNotifyValue(true, for: notifying)
            }
        } finish: { [unowned self] in
            done()
        }
        workload?.start()
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { fail("a value: \(error)") }
        workload?.answered()
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { fail("a write: \(error)") }
        workload?.answered()
    }
}
