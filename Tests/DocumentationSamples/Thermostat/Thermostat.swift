import CoreBluetooth

/// A thermostat: it takes a wanted temperature and a schedule, and reports each change.
final class Thermostat: NSObject, CBPeripheralManagerDelegate {
    static let service = CBUUID(string: "5B7F0001-9C44-4E0D-8A57-3C1D60E2B9A4")
    static let schedule = CBUUID(string: "5B7F0002-9C44-4E0D-8A57-3C1D60E2B9A4")
    static let target = CBUUID(string: "5B7F0003-9C44-4E0D-8A57-3C1D60E2B9A4")
    static let reports = CBUUID(string: "5B7F0004-9C44-4E0D-8A57-3C1D60E2B9A4")

    /// What peers may change, together.
    private struct Settings {
        var schedule = Data(
            ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"].map { "\($0) 06:30 20 C, 08:00 16 C, 17:00 21 C, 22:30 16 C" }
                .joined(separator: "; ").utf8)
        /// One octet, in degrees Celsius.
        var target = Data([20])

        var isSensible: Bool { target.count == 1 && (5...30).contains(target[target.startIndex]) }
    }

    private var manager: CBPeripheralManager?
    private var settings = Settings()
    private let reports = CBMutableCharacteristic(
        type: Thermostat.reports, properties: .notify, value: nil, permissions: [])
    /// Reports that the manager had no room for, and for whom; nil stands for every subscriber.
    private var waiting: [(report: Data, centrals: [CBCentral]?)] = []

    func start() { manager = CBPeripheralManager(delegate: self, queue: nil) }

    // MARK: Publishing

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else {
            return say("\(peripheral.state): \(CBHost.default.obstacle ?? "waiting for the adapter")")
        }
        let schedule = CBMutableCharacteristic(
            type: Self.schedule, properties: [.read, .write], value: nil, permissions: [.readable, .writeable])
        schedule.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: "times and temperatures")]
        let target = CBMutableCharacteristic(
            type: Self.target, properties: [.write, .writeWithoutResponse], value: nil, permissions: .writeable)
        let service = CBMutableService(type: Self.service, primary: true)
        service.characteristics = [schedule, target, reports]
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if let error { return say("not published: \(error.localizedDescription)") }
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Thermostat", CBAdvertisementDataServiceUUIDsKey: [Self.service],
        ])
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        say(error.map { "not advertising: \($0.localizedDescription)" } ?? "advertising")
    }

    // MARK: Requests

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        let value = settings.schedule
        guard request.offset <= value.count else {
            return peripheral.respond(to: request, withResult: .invalidOffset)
        }
        request.value = Data(value.dropFirst(request.offset))
        peripheral.respond(to: request, withResult: .success)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        // All of the writes are made on a copy. The copy counts only if each of them was possible.
        var changed = settings
        for request in requests {
            let part = request.value ?? Data()
            let value = request.characteristic.uuid == Self.target ? \Settings.target : \Settings.schedule
            guard request.offset <= changed[keyPath: value].count else {
                return peripheral.respond(to: first, withResult: .invalidOffset)
            }
            changed[keyPath: value] = changed[keyPath: value].prefix(request.offset) + part
        }
        guard changed.isSensible else {
            return peripheral.respond(to: first, withResult: .invalidAttributeValueLength)
        }
        settings = changed
        peripheral.respond(to: first, withResult: .success)
        report(to: nil)
    }

    // MARK: Updates

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        say("subscribed")
        // The other subscribers know it already.
        report(to: [central])
    }

    private func report(to centrals: [CBCentral]?) {
        waiting.append((Data("target \(settings.target.first ?? 0)".utf8), centrals))
        sendWaiting()
    }

    private func sendWaiting() {
        guard let manager else { return }
        while let next = waiting.first,
            manager.updateValue(next.report, for: reports, onSubscribedCentrals: next.centrals)
        {
            waiting.removeFirst()
        }
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { sendWaiting() }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}
