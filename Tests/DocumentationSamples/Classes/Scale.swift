import CoreBluetooth

/// A scale that goes on where it was killed: its service stands, and its subscribers are known.
final class Scale: NSObject, CBPeripheralManagerDelegate {
    static let service = CBUUID(string: "181D")
    static let measurement = CBUUID(string: "2A9D")

    private var manager: CBPeripheralManager?
    private var measurement: CBMutableCharacteristic?

    func start() {
        manager = CBPeripheralManager(
            delegate: self, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "scale"])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        let characteristics = services.flatMap { $0.characteristics ?? [] }
        measurement = characteristics.first { $0.uuid == Self.measurement } as? CBMutableCharacteristic
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        if measurement == nil { publish() }
        // It may have been killed between the two.
        if !peripheral.isAdvertising {
            peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Self.service]])
        }
    }

    private func publish() {
        let measurement = CBMutableCharacteristic(
            type: Self.measurement, properties: .indicateEncryptionRequired, value: nil, permissions: [])
        let service = CBMutableService(type: Self.service, primary: true)
        service.characteristics = [measurement]
        self.measurement = measurement
        manager?.add(service)
    }

    /// Flags, and the weight in units of 5 g.
    func weighed(_ units: UInt16) {
        guard let measurement else { return }
        let value = Data([0, UInt8(truncatingIfNeeded: units), UInt8(truncatingIfNeeded: units >> 8)])
        manager?.updateValue(value, for: measurement, onSubscribedCentrals: nil)
    }
}
