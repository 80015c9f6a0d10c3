// A lock's owner's phone, a central app written as for Apple's Core Bluetooth: it finds the lock once, and from then on prints
// how the lock stands whenever it is near. What the lock told while the phone was away, or its app dead, it hears when both are
// back.
import CoreBluetooth

final class Phone: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    private static let service = CBUUID(string: "E6D40001-92B8-47C3-A1F7-0D5C8E3B6A19")
    private static let bolt = CBUUID(string: "E6D40002-92B8-47C3-A1F7-0D5C8E3B6A19")

    private var manager: CBCentralManager?
    private var lock: CBPeripheral?

    func begin() {
        manager = CBCentralManager(
            delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "phone"])
    }

    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
        lock = peripherals.first
        lock?.delegate = self
        say("restored: \(peripherals.count) peripheral, \(bolt?.isNotifying == true ? "listening" : "deaf")")
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        say("state: \(central.state)")
        guard central.state == .poweredOn else { return }
        guard let lock else { return central.scanForPeripherals(withServices: [Self.service]) }
        // Connected already, or as soon as it is near: nothing has to be asked for.
        if lock.state == .connected { enter(lock) }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        say("found a lock")
        central.stopScan()
        lock = peripheral
        peripheral.delegate = self
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { enter(peripheral) }

    /// The lock is away. This connection has no end but the lock's return, and outlives the app.
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        say("away")
        central.connect(peripheral)
    }

    private func enter(_ lock: CBPeripheral) {
        say("at the lock")
        // A bonded lock keeps its subscriber, and tells by itself what is new.
        if bolt?.isNotifying != true { lock.discoverServices([Self.service]) }
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics([Self.bolt], for: service) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        guard let bolt else { return }
        // The lock wants an encrypted link for it: the link is paired first, and the subscription follows.
        peripheral.setNotifyValue(true, for: bolt)
        peripheral.readValue(for: bolt)
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
        if let error { return say("not read: \(error.localizedDescription)") }
        say("the lock is \(String(decoding: characteristic.value ?? Data(), as: UTF8.self))")
    }

    private var bolt: CBCharacteristic? {
        let services = lock?.services ?? []
        return services.flatMap { $0.characteristics ?? [] }.first { $0.uuid == Self.bolt }
    }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

let phone = Phone()
phone.begin()
RunLoop.main.run()
