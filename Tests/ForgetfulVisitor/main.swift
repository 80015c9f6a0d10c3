// A guest with a bug for `latch-lab drill app` to find: a central that is restored and does not look at what it was given. It
// asks for everything anew, which its doorbell does not need and its user waits for.
import CoreBluetooth

final class ForgetfulVisitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    private let service = CBUUID(string: "8C9A0001-6F2D-4B7E-9B1C-2F6D3A5E4C10")
    private let button = CBUUID(string: "8C9A0002-6F2D-4B7E-9B1C-2F6D3A5E4C10")
    private let chime = CBUUID(string: "8C9A0003-6F2D-4B7E-9B1C-2F6D3A5E4C10")
    private var manager: CBCentralManager?
    private var door: CBPeripheral?

    func begin() {
        manager = CBCentralManager(
            delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "forgetful"])
    }

    /// The bug: what is in `dict` is dropped.
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) { say("restored") }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if central.state == .poweredOn, door == nil { central.scanForPeripherals(withServices: [service]) }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        say("discovered a doorbell")
        central.stopScan()
        door = peripheral
        peripheral.delegate = self
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices([service])
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        central.connect(peripheral)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        for known in service.characteristics ?? [] where known.uuid == chime {
            peripheral.setNotifyValue(true, for: known)
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard error == nil else { return say("refused") }
        say("listening")
        for known in characteristic.service?.characteristics ?? [] where known.uuid == button {
            peripheral.writeValue(Data("ding".utf8), for: known, type: .withResponse)
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        say("heard: \(String(decoding: characteristic.value ?? Data(), as: UTF8.self))")
    }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

let visitor = ForgetfulVisitor()
visitor.begin()
RunLoop.main.run()
