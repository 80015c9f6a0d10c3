import CoreBluetooth

/// A remote control for a thermostat. It remembers the one that it has met.
final class Remote: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    static let service = CBUUID(string: "5B7F0001-9C44-4E0D-8A57-3C1D60E2B9A4")
    static let schedule = CBUUID(string: "5B7F0002-9C44-4E0D-8A57-3C1D60E2B9A4")
    static let target = CBUUID(string: "5B7F0003-9C44-4E0D-8A57-3C1D60E2B9A4")
    static let reports = CBUUID(string: "5B7F0004-9C44-4E0D-8A57-3C1D60E2B9A4")

    private let memory: URL
    private var manager: CBCentralManager?
    /// Held here, as with Apple: the manager does not promise to.
    private var thermostat: CBPeripheral?
    /// Temperatures that wait for room.
    private var targets: [UInt8] = []

    /// The identifier of the thermostat is kept in this file.
    init(memory: URL) { self.memory = memory }

    func start() { manager = CBCentralManager(delegate: self, queue: nil) }

    // MARK: Finding it

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn else {
            return say("\(central.state): \(CBHost.default.obstacle ?? "waiting for the adapter")")
        }
        if let known = known(to: central) {
            say("connecting to the one that it knows")
            connect(to: known)
        } else {
            central.scanForPeripherals(withServices: [Self.service])
        }
    }

    private func known(to central: CBCentralManager) -> CBPeripheral? {
        guard let text = try? String(contentsOf: memory, encoding: .utf8), let identifier = UUID(uuidString: text)
        else {
            return nil
        }
        return central.retrievePeripherals(withIdentifiers: [identifier]).first
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        say("discovered a thermostat")
        central.stopScan()
        try? peripheral.identifier.uuidString.write(to: memory, atomically: true, encoding: .utf8)
        connect(to: peripheral)
    }

    private func connect(to peripheral: CBPeripheral) {
        thermostat = peripheral
        peripheral.delegate = self
        manager?.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices([Self.service])
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        say("not connected: \(error?.localizedDescription ?? "")")
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        say("disconnected")
        // It may take a second or a week. Without its adapter a manager takes no calls: its state tells when to go on.
        if central.state == .poweredOn { central.connect(peripheral) }
    }

    // MARK: Discovering it

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] where service.uuid == Self.service {
            peripheral.discoverCharacteristics([Self.schedule, Self.target, Self.reports], for: service)
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        for characteristic in service.characteristics ?? [] {
            switch characteristic.uuid {
            case Self.schedule: peripheral.readValue(for: characteristic)
            case Self.reports: peripheral.setNotifyValue(true, for: characteristic)
            default: break
            }
        }
    }

    // MARK: Using it

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return say("not read: \(error.localizedDescription)") }
        say(String(decoding: characteristic.value ?? Data(), as: UTF8.self))
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return say("not subscribed: \(error.localizedDescription)") }
        let days = ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"]
        write(schedule: days.map { "\($0) 06:00 20 C, 09:00 17 C, 16:00 22 C, 23:00 17 C" }.joined(separator: "; "))
    }

    private func write(schedule: String) {
        guard let characteristic = characteristic(Self.schedule) else { return }
        thermostat?.writeValue(Data(schedule.utf8), for: characteristic, type: .withResponse)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        if let error { return say("not written: \(error.localizedDescription)") }
        say("written")
        targets = [22]
        sendTargets()
    }

    private func sendTargets() {
        guard let thermostat, let characteristic = characteristic(Self.target) else { return }
        while let next = targets.first, thermostat.canSendWriteWithoutResponse {
            thermostat.writeValue(Data([next]), for: characteristic, type: .withoutResponse)
            targets.removeFirst()
        }
    }

    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { sendTargets() }

    private func characteristic(_ uuid: CBUUID) -> CBCharacteristic? {
        let services = thermostat?.services ?? []
        return services.flatMap { $0.characteristics ?? [] }.first { $0.uuid == uuid }
    }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}
