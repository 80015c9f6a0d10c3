// A peripheral app, written as for Apple's Core Bluetooth: whoever presses the button hears the bell. Killed and started
// again it rings on, for the same visitors.
import CoreBluetooth

final class Doorbell: NSObject, CBPeripheralManagerDelegate {
    static let service = CBUUID(string: "8C9A0001-6F2D-4B7E-9B1C-2F6D3A5E4C10")
    static let button = CBUUID(string: "8C9A0002-6F2D-4B7E-9B1C-2F6D3A5E4C10")
    static let chime = CBUUID(string: "8C9A0003-6F2D-4B7E-9B1C-2F6D3A5E4C10")

    private var manager: CBPeripheralManager?
    private var chime: CBMutableCharacteristic?
    /// Rings that wait for room.
    private var waiting: [Data] = []

    func open() {
        manager = CBPeripheralManager(
            delegate: self, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "doorbell"])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        for characteristic in services.flatMap({ $0.characteristics ?? [] }) where characteristic.uuid == Self.chime {
            chime = characteristic as? CBMutableCharacteristic
        }
        say("restored: \(services.count) service, \(chime?.subscribedCentrals?.count ?? 0) subscriber")
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        say("state: \(peripheral.state)")
        guard peripheral.state == .poweredOn else { return }
        // Restored: advertising too, unless it was killed before it had asked for that.
        guard chime == nil else { return peripheral.isAdvertising ? () : advertise() }
        let button = CBMutableCharacteristic(
            type: Self.button, properties: .write, value: nil, permissions: .writeEncryptionRequired)
        let chime = CBMutableCharacteristic(
            type: Self.chime, properties: .notifyEncryptionRequired, value: nil, permissions: [])
        let service = CBMutableService(type: Self.service, primary: true)
        service.characteristics = [button, chime]
        self.chime = chime
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        guard error == nil else { return say("not added: \(error?.localizedDescription ?? "")") }
        advertise()
    }

    private func advertise() {
        manager?.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Doorbell", CBAdvertisementDataServiceUUIDsKey: [Self.service],
        ])
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        say("advertising")
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        peripheral.respond(to: first, withResult: .success)
        waiting += requests.compactMap(\.value)
        ring()
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { ring() }

    private func ring() {
        guard let manager, let chime else { return }
        while let next = waiting.first, manager.updateValue(next, for: chime, onSubscribedCentrals: nil) {
            waiting.removeFirst()
            say("rang: \(String(decoding: next, as: UTF8.self))")
        }
    }

    private func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
}

let doorbell = Doorbell()
doorbell.open()
RunLoop.main.run()
