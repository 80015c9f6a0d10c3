// The other half of a greeting, a central app written as for Apple's Core Bluetooth: it reads a greeter's greeting, a dictionary
// as a property list, writes one back, and prints what it is told from then on.
//
// Guest [NAME]
import CoreBluetooth

final class Guest: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    private static let service = CBUUID(string: "5B1D0001-3C47-4E0A-8F65-9A2E7D1C4B30")
    private static let greeting = CBUUID(string: "5B1D0002-3C47-4E0A-8F65-9A2E7D1C4B30")

    private let name: String
    private var manager: CBCentralManager?
    private var greeter: CBPeripheral?
    /// On this link.
    private var hasAnswered = false
    private var isReading = false

    init(name: String) { self.name = name }

    func begin() { manager = CBCentralManager(delegate: self, queue: nil) }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        say("state: \(central.state)")
        guard central.state == .poweredOn, greeter == nil else { return }
        central.scanForPeripherals(withServices: [Self.service])
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        say("discovered a greeter")
        central.stopScan()
        greeter = peripheral
        peripheral.delegate = self
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        (hasAnswered, isReading) = (false, false)
        peripheral.discoverServices([Self.service])
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        say("disconnected")
        central.connect(peripheral)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] {
            peripheral.discoverCharacteristics([Self.greeting], for: service)
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        for characteristic in service.characteristics ?? [] { peripheral.setNotifyValue(true, for: characteristic) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return say("not listening: \(error.localizedDescription)") }
        say("listening")
        read(characteristic, of: peripheral)
    }

    private func read(_ characteristic: CBCharacteristic, of peripheral: CBPeripheral) {
        isReading = true
        peripheral.readValue(for: characteristic)
    }

    /// What was read is whole, however long. A notification has what fits an ATT_MTU, and a property list without its end is
    /// none: then the value is read.
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return say("not read: \(error.localizedDescription)") }
        guard let value = characteristic.value,
            let words = try? PropertyListSerialization.propertyList(from: value, format: nil) as? [String: Any],
            let greeter = words["from"] as? String, let text = words["text"] as? String,
            let visits = words["visits"] as? Int
        else {
            guard isReading else { return read(characteristic, of: peripheral) }
            isReading = false
            return say("not understood")
        }
        isReading = false
        say("\(greeter) says: \(text) (visits: \(visits))")
        if !hasAnswered { answer(characteristic, of: peripheral) }
    }

    private func answer(_ characteristic: CBCharacteristic, of peripheral: CBPeripheral) {
        hasAnswered = true
        let words = ["from": name, "text": "It is me, and this is more than one packet holds."]
        guard let value = try? PropertyListSerialization.data(fromPropertyList: words, format: .xml, options: 0) else {
            return
        }
        peripheral.writeValue(value, for: characteristic, type: .withResponse)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return say("not answered: \(error.localizedDescription)") }
        say("answered")
    }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

let guest = Guest(name: CommandLine.arguments.dropFirst().first ?? "Guest")
guest.begin()
RunLoop.main.run()
