import CoreBluetooth

/// The central of the matrix.
final class Central: NSObject, Role, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    private enum Aim { case subscribe, read }

    private var manager: CBCentralManager?
    private var peer: CBPeripheral?
    /// What a discovery is for.
    private var aim: Aim?

    func open() {
        manager = CBCentralManager(
            delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "matrix"])
    }

    func obey(_ command: String, _ operand: String) {
        switch command {
        case "scan": manager?.scanForPeripherals(withServices: [Attribute.service])
        case "stop": manager?.stopScan()
        case "connect": peer.map { manager?.connect($0) }
        case "connect-later":
            let options = [CBConnectPeripheralOptionStartDelayKey: NSNumber(value: Int(operand) ?? 0)]
            peer.map { manager?.connect($0, options: options) }
        case "subscribe": pursue(.subscribe)
        case "read": pursue(.read)
        default: say("no such command: \(command)")
        }
    }

    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
        let services = dict[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID]
        peer = peripherals.first
        peer?.delegate = self
        let isListening = characteristic(Attribute.news)?.isNotifying == true
        say(
            "restored: \(services == [Attribute.service] ? "scanning" : "not scanning"), \(peripherals.count) peers, "
                + (isListening ? "listening" : "not listening"))
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        say("state: \(central.state)")
        // The host may have been quicker than the app.
        if central.state == .poweredOn, peer?.state == .connected { say("connected") }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        peer = peripheral
        peripheral.delegate = self
        say("found")
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { say("connected") }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        say("disconnected: \(text(error))")
        // As every app does that wants its peer back: the end of a link is the end of what was asked for.
        central.connect(peripheral)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        say("discovered")
        if let aim { pursue(aim) }
    }

    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        say("services changed")
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        say(error.map { "not subscribed: \($0)" } ?? "subscribed")
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        let value = String(decoding: characteristic.value ?? Data(), as: UTF8.self)
        say(error.map { "not read: \($0)" } ?? "\(characteristic.uuid == Attribute.news ? "heard" : "read"): \(value)")
    }

    private func pursue(_ aim: Aim) {
        let known = characteristic(aim == .subscribe ? Attribute.news : Attribute.greeting)
        guard let peer, let known else {
            self.aim = aim
            peer?.discoverServices([Attribute.service])
            return
        }
        self.aim = nil
        switch aim {
        case .subscribe: peer.setNotifyValue(true, for: known)
        case .read: peer.readValue(for: known)
        }
    }

    private func characteristic(_ uuid: CBUUID) -> CBCharacteristic? {
        peer?.services?.flatMap { $0.characteristics ?? [] }.first { $0.uuid == uuid }
    }
}
