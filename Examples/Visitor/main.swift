// A central app, written as for Apple's Core Bluetooth: it looks for a doorbell, presses its button each time that it is
// connected, and listens for the chime. Killed and started again it comes back to the same door without looking for it.
import CoreBluetooth

/// Everything of it runs on the main queue.
final class Visitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    static let service = CBUUID(string: "8C9A0001-6F2D-4B7E-9B1C-2F6D3A5E4C10")
    static let button = CBUUID(string: "8C9A0002-6F2D-4B7E-9B1C-2F6D3A5E4C10")
    static let chime = CBUUID(string: "8C9A0003-6F2D-4B7E-9B1C-2F6D3A5E4C10")

    private var manager: CBCentralManager?
    private var door: CBPeripheral?
    /// In a row.
    private var refusals = 0
    private static let refusalsMaximum = 4
    private static let pauseSeconds = 2.0

    func leaveHome() {
        manager = CBCentralManager(
            delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "visitor"])
    }

    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
        door = peripherals.first
        door?.delegate = self
        let isListening = characteristic(Self.chime, of: door)?.isNotifying == true
        say("restored: \(peripherals.count) peripheral, \(isListening ? "listening" : "deaf")")
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        say("state: \(central.state)")
        guard central.state == .poweredOn else { return }
        guard let door else { return central.scanForPeripherals(withServices: [Self.service]) }
        // Connected already, or as soon as it is near: nothing has to be asked for.
        if door.state == .connected { enter() }
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
        enter()
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        say("disconnected")
        central.connect(peripheral)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        // The doorbell wants an encrypted link for it: the link is paired first, and the subscription follows.
        if let chime = characteristic(Self.chime, of: peripheral) { peripheral.setNotifyValue(true, for: chime) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard let error else {
            say("listening")
            refusals = 0
            return press()
        }
        say("not listening: \(error.localizedDescription)")
        // The next link begins anew by itself.
        guard peripheral.state == .connected else { return }
        // A pairing that broke off has to wait a while before the next; a door that keeps another bond never takes one.
        refusals += 1
        guard refusals < Self.refusalsMaximum else { return say("given up: \(error.localizedDescription)") }
        DispatchQueue.main.asyncAfter(deadline: .now() + Self.pauseSeconds) { [weak self] in self?.enter() }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { say("not pressed: \(error.localizedDescription)") }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        say("heard: \(String(decoding: characteristic.value ?? Data(), as: UTF8.self))")
    }

    /// Goes on where it was. Killed or cut off before it listened, it looks at the door once more: what a stranger had on one
    /// link need not be there on the next.
    private func enter() {
        if characteristic(Self.chime, of: door)?.isNotifying == true {
            press()
        } else {
            door?.discoverServices([Self.service])
        }
    }

    private func press() {
        guard let door, let button = characteristic(Self.button, of: door) else { return }
        door.writeValue(Data("ding".utf8), for: button, type: .withResponse)
    }

    private func characteristic(_ uuid: CBUUID, of peripheral: CBPeripheral?) -> CBCharacteristic? {
        let services = peripheral?.services ?? []
        return services.flatMap { $0.characteristics ?? [] }.first { $0.uuid == uuid }
    }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

let visitor = Visitor()
visitor.leaveHome()
RunLoop.main.run()
