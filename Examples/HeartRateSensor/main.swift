// A heart rate sensor, written as for Apple's Core Bluetooth: the Heart Rate service, open to everybody, with a new measurement
// each second for as long as somebody listens. Killed and started again it is on the air as before.
//
// HeartRateSensor [RATE]: the wearer's heart rate at rest, 72 beats a minute unless said.
import CoreBluetooth

/// Everything of it runs on the main queue.
final class HeartRateSensor: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
    private static let service = CBUUID(string: "180D")
    private static let measurement = CBUUID(string: "2A37")
    private static let bodySensorLocation = CBUUID(string: "2A38")
    private static let controlPoint = CBUUID(string: "2A39")

    /// Heart Rate Service 1.0, 3.2 (Body Sensor Location)
    private static let chest = Data([1])
    /// Heart Rate Service 1.0, 3.3 (Heart Rate Control Point)
    private static let resetEnergyExpended = Data([1])
    /// Heart Rate Service 1.0, 2.5 (Attribute Protocol Application Error Codes)
    private static let controlPointNotSupported = CBATTError.Code(rawValue: 0x80) ?? .unlikelyError

    private let rateAtRest: UInt16
    private var manager: CBPeripheralManager?
    private var measurement: CBMutableCharacteristic?
    /// Killed between its service and its advertising it has one and not the other, and so it has where the adapter goes away in
    /// between. It asks for that once.
    private var mayLackAdvertising = false
    private var timer: Timer?
    private var count: UInt16 = 0
    private var energy: UInt16 = 0

    init(rateAtRest: UInt16) { self.rateAtRest = rateAtRest }

    func begin() {
        manager = CBPeripheralManager(
            delegate: self, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "heart rate sensor"])
    }

    // MARK: The service

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        measurement =
            services.flatMap { $0.characteristics ?? [] }.first { $0.uuid == Self.measurement }
            as? CBMutableCharacteristic
        mayLackAdvertising = measurement != nil
        say("restored: \(services.count) service")
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        say("state: \(peripheral.state)")
        guard peripheral.state == .poweredOn else { return }
        guard measurement == nil else {
            if mayLackAdvertising, !peripheral.isAdvertising { advertise() }
            mayLackAdvertising = false
            return follow()
        }
        let measurement = CBMutableCharacteristic(
            type: Self.measurement, properties: .notify, value: nil, permissions: [])
        let location = CBMutableCharacteristic(
            type: Self.bodySensorLocation, properties: .read, value: Self.chest, permissions: .readable)
        let controlPoint = CBMutableCharacteristic(
            type: Self.controlPoint, properties: .write, value: nil, permissions: .writeable)
        let service = CBMutableService(type: Self.service, primary: true)
        service.characteristics = [measurement, location, controlPoint]
        self.measurement = measurement
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if let error { return say("not added: \(error.localizedDescription)") }
        advertise()
    }

    private func advertise() {
        guard let manager, manager.state == .poweredOn else { return mayLackAdvertising = true }
        manager.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Heart", CBAdvertisementDataServiceUUIDsKey: [Self.service],
        ])
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        if let error { return say("not advertising: \(error.localizedDescription)") }
        say("advertising")
    }

    // MARK: Measurements

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        say("subscribed")
        follow()
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        say("unsubscribed")
        follow()
    }

    /// Measures for as long as somebody listens: at once, and then each second.
    private func follow() {
        let isHeard = measurement?.subscribedCentrals?.isEmpty == false
        guard isHeard != (timer != nil) else { return }
        timer?.invalidate()
        timer = nil
        guard isHeard else { return }
        timer = Timer.scheduledTimer(withTimeInterval: 1, repeats: true) { [weak self] _ in self?.measure() }
        measure()
    }

    private func measure() {
        guard let manager, let measurement else { return }
        let value = HeartRateMeasurement(rate: rateAtRest &+ count % 4, hasSkinContact: true, energy: energy)
        count &+= 1
        // Heart Rate Service 1.0, 3.1.1.3: it stays at its maximum until somebody resets it.
        if energy < .max { energy += 1 }
        // Where there is no room it is dropped: the next one says more.
        manager.updateValue(value.octets, for: measurement, onSubscribedCentrals: nil)
    }

    // MARK: The control point

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        guard requests.allSatisfy({ $0.offset == 0 && $0.value == Self.resetEnergyExpended }) else {
            return peripheral.respond(to: first, withResult: Self.controlPointNotSupported)
        }
        energy = 0
        peripheral.respond(to: first, withResult: .success)
        say("energy reset")
    }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

let sensor = HeartRateSensor(rateAtRest: CommandLine.arguments.dropFirst().first.flatMap { UInt16($0) } ?? 72)
sensor.begin()
RunLoop.main.run()
