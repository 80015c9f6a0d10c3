// The simplest peripheral app that can be missed: it notifies its subscribers of a count, ten times a second. Killed and started
// again it goes on, beside an application of bluetoothd's that does the same.
import CoreBluetooth
import Dispatch

final class Metronome: NSObject, CBPeripheralManagerDelegate {
    private let service: CBUUID
    private let beat = CBUUID(string: "FFF3")
    private var manager: CBPeripheralManager?
    private var characteristic: CBMutableCharacteristic?
    private let timer = DispatchSource.makeTimerSource(queue: .main)
    private var count: UInt32 = 0

    init(service: CBUUID) {
        self.service = service
    }

    func begin() {
        manager = CBPeripheralManager(
            delegate: self, queue: nil, options: [CBPeripheralManagerOptionRestoreIdentifierKey: "metronome"])
        timer.schedule(deadline: .now(), repeating: .milliseconds(100))
        timer.setEventHandler { [unowned self] in strike() }
        timer.resume()
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        characteristic =
            services.flatMap { $0.characteristics ?? [] }.first { $0.uuid == beat } as? CBMutableCharacteristic
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        guard characteristic == nil else { return peripheral.isAdvertising ? () : advertise() }
        let made = CBMutableCharacteristic(
            type: beat, properties: [.read, .notify], value: nil, permissions: .readable)
        let service = CBMutableService(type: service, primary: true)
        service.characteristics = [made]
        characteristic = made
        peripheral.add(service)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        if error == nil { advertise() }
    }

    private func advertise() {
        manager?.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [service]])
    }

    /// A beat that finds no room is missed; the next one says how many there were.
    private func strike() {
        guard let manager, let characteristic, characteristic.subscribedCentrals?.isEmpty == false else { return }
        count += 1
        let value = withUnsafeBytes(of: count.littleEndian) { Data($0) }
        _ = manager.updateValue(value, for: characteristic, onSubscribedCentrals: nil)
    }
}

let metronome = Metronome(service: CBUUID(string: CommandLine.arguments.dropFirst().first ?? "FFF0"))
metronome.begin()
RunLoop.main.run()
