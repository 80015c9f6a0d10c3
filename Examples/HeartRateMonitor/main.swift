// A heart rate monitor, written as for Apple's Core Bluetooth: it looks for a sensor, begins a session with it, and prints each
// measurement. Killed and started again it comes back to the same sensor, in the same session.
import CoreBluetooth

final class HeartRateMonitor: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    private static let service = CBUUID(string: "180D")
    private static let measurement = CBUUID(string: "2A37")
    private static let bodySensorLocation = CBUUID(string: "2A38")
    private static let controlPoint = CBUUID(string: "2A39")

    /// Heart Rate Service 1.0, 3.3 (Heart Rate Control Point)
    private static let resetEnergyExpended = Data([1])

    private var manager: CBCentralManager?
    private var sensor: CBPeripheral?
    /// The energy is counted from where the session begins.
    private var isSessionNew = false

    func begin() {
        manager = CBCentralManager(
            delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "heart rate monitor"])
    }

    // MARK: The sensor

    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
        sensor = peripherals.first
        sensor?.delegate = self
        say("restored: \(peripherals.count) peripheral")
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        say("state: \(central.state)")
        guard central.state == .poweredOn else { return }
        guard let sensor else { return central.scanForPeripherals(withServices: [Self.service]) }
        // Connected already, or as soon as it is near: nothing has to be asked for.
        if sensor.state == .connected { enter(sensor) }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        say("discovered a sensor")
        central.stopScan()
        sensor = peripheral
        isSessionNew = true
        peripheral.delegate = self
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { enter(peripheral) }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        say("disconnected")
        central.connect(peripheral)
    }

    // MARK: Its service

    /// A sensor without a bond forgets its subscribers with the link: each link subscribes anew.
    private func enter(_ sensor: CBPeripheral) {
        say("connected")
        sensor.discoverServices([Self.service])
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] where service.uuid == Self.service {
            peripheral.discoverCharacteristics(nil, for: service)
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        let found = service.characteristics ?? []
        func characteristic(_ uuid: CBUUID) -> CBCharacteristic? { found.first { $0.uuid == uuid } }
        // In this order on the air, too: a peripheral is asked one thing behind the other.
        if let location = characteristic(Self.bodySensorLocation) { peripheral.readValue(for: location) }
        if isSessionNew, let controlPoint = characteristic(Self.controlPoint) {
            peripheral.writeValue(Self.resetEnergyExpended, for: controlPoint, type: .withResponse)
        }
        if let measurement = characteristic(Self.measurement) { peripheral.setNotifyValue(true, for: measurement) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return say("no new session: \(error.localizedDescription)") }
        isSessionNew = false
        say("new session")
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return say("not listening: \(error.localizedDescription)") }
        say("listening")
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        guard error == nil, let value = characteristic.value else { return }
        switch characteristic.uuid {
        case Self.measurement: say("heart rate: \(HeartRateMeasurement(value)?.description ?? "cannot be read")")
        case Self.bodySensorLocation: say("worn on: \(Self.places[value.first ?? 0] ?? "elsewhere")")
        default: break
        }
    }

    /// Heart Rate Service 1.0, 3.2 (Body Sensor Location)
    private static let places: [UInt8: String] = [
        1: "chest", 2: "wrist", 3: "finger", 4: "hand", 5: "ear lobe", 6: "foot",
    ]

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

let monitor = HeartRateMonitor()
monitor.begin()
RunLoop.main.run()
