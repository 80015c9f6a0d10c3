// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth
import Foundation

/// A peripheral with several services, as test benches have it: a pulse belt with a battery, a name and a light.
class SimulatedBelt: NSObject {
    struct Settings {
        var name = "Belt"
        /// Out of a configuration file: one that is not written there is nil.
        var extraServices: [CBUUID?] = []
        var restoreIdentifier: String?
    }

    static let lightService = CBUUID(nsuuid: UUID(uuidString: "D7A0B1C2-5E6F-4A3B-9C8D-7E6F5A4B3C2D")!)
    static let lightCharacteristic = CBUUID(string: "D7A0B1C3-5E6F-4A3B-9C8D-7E6F5A4B3C2D")

    private var manager: CBPeripheralManager!
    private let settings: Settings
    private var timer: DispatchSourceTimer?
    private var pending: [(Data, CBMutableCharacteristic, [CBCentral]?)] = []
    private var subscribers: [CBMutableCharacteristic: Set<CBCentral>] = [:]
    private var published: Set<CBUUID> = []

    private(set) var isLightOn = false {
        didSet {
            guard isLightOn != oldValue else { return }
            push(Data([isLightOn ? 1 : 0]), light)
        }
    }
    var pulse: UInt8 = 60
    var level = 100

    let measurement = CBMutableCharacteristic(
        type: .heartRateMeasurement, properties: [.notify], value: nil, permissions: [])
    let location = CBMutableCharacteristic(
        type: .bodySensorLocation, properties: .read, value: Data([BodySensorLocation.chest.rawValue]),
        permissions: .readable)
    let battery = CBMutableCharacteristic(
        type: .batteryLevel, properties: [.read, .notify], value: nil, permissions: [.readable])
    let light = CBMutableCharacteristic(
        type: SimulatedBelt.lightCharacteristic,
        properties: [.read, .write, .writeWithoutResponse, .notifyEncryptionRequired],
        value: nil,
        permissions: CBAttributePermissions.openForAll.union(.writeEncryptionRequired))

    init(settings: Settings = Settings()) {
        self.settings = settings
        super.init()
    }

    func start(queue: DispatchQueue? = DispatchQueue.main) {
        var options: [String: Any] = [CBPeripheralManagerOptionShowPowerAlertKey: true]
        if let identifier = settings.restoreIdentifier {
            options[CBPeripheralManagerOptionRestoreIdentifierKey] = identifier
        }
        manager = CBPeripheralManager(delegate: self, queue: queue, options: options)
    }

    func makeServices() -> [CBMutableService] {
        let heart = CBMutableService(type: .heartRateService, primary: true)
        heart.characteristics = [measurement, location]

        let power = CBMutableService(type: .batteryService, primary: false)
        battery.descriptors = [
            CBMutableDescriptor(type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: "Main cell"),
            CBMutableDescriptor(
                type: CBUUID(string: CBUUIDCharacteristicFormatString), value: Data([4, 0, 0xAD, 0x27, 1, 0, 0])),
        ]
        power.characteristics = [battery]
        heart.includedServices = [power]

        let switches = CBMutableService(type: SimulatedBelt.lightService, primary: true)
        switches.characteristics = [light]
        return [power, heart, switches]
    }

    var advertisement: [String: Any] {
        let services: [CBUUID?] = [.heartRateService, SimulatedBelt.lightService] + settings.extraServices
        return [
            CBAdvertisementDataLocalNameKey: settings.name,
            CBAdvertisementDataServiceUUIDsKey: services.compactMap { $0 },
        ]
    }

    func beat() -> Data {
        pulse = pulse &+ 1
        return Data([0x00, pulse])
    }

    func value(of characteristic: CBCharacteristic) -> Data? {
        switch characteristic {
        case battery: return Data([UInt8(clamping: level)])
        case light: return Data([isLightOn ? 1 : 0])
        default: return characteristic.value
        }
    }

    /// What a read of `characteristic` from `offset` on is answered with.
    func answer(to characteristic: CBCharacteristic, offset: Int) -> Result<Data, CBATTError> {
        guard let value = value(of: characteristic) else { return .failure(CBATTError(.attributeNotFound)) }
        guard offset <= value.count else { return .failure(CBATTError(.invalidOffset)) }
        return .success(value.subdata(in: offset..<value.count))
    }

    /// What a write says, and does.
    func take(_ value: Data?, for characteristic: CBCharacteristic, offset: Int) -> CBATTError.Code {
        guard characteristic.uuid == light.uuid else { return .writeNotPermitted }
        guard offset == 0 else { return .attributeNotLong }
        guard let value = value, value.count == 1 else { return .invalidAttributeValueLength }
        guard value[0] <= 1 else { return .procedureInProgress }
        isLightOn = value.first == 1
        return .success
    }

    private func push(_ value: Data, _ characteristic: CBMutableCharacteristic, _ centrals: [CBCentral]? = nil) {
        guard let manager = manager, subscribers[characteristic]?.isEmpty == false else { return }
        if !manager.updateValue(value, for: characteristic, onSubscribedCentrals: centrals) {
            pending.append((value, characteristic, centrals))
        }
    }

    private func runTimer() {
        guard timer == nil else { return }
        let timer = DispatchSource.makeTimerSource(queue: .main)
        timer.schedule(deadline: .now(), repeating: .seconds(1))
        timer.setEventHandler { [weak self] in
            guard let self = self else { return }
            self.push(self.beat(), self.measurement)
        }
        timer.resume()
        self.timer = timer
    }
}

extension SimulatedBelt: CBPeripheralManagerDelegate {
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else {
            timer?.cancel()
            timer = nil
            return
        }
        if published.isEmpty {
            peripheral.removeAllServices()
            for service in makeServices() { peripheral.add(service) }
        }
        if !peripheral.isAdvertising { peripheral.startAdvertising(advertisement) }
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        for service in services {
            published.insert(service.uuid)
            for case let characteristic as CBMutableCharacteristic in service.characteristics ?? [] {
                subscribers[characteristic] = Set(characteristic.subscribedCentrals ?? [])
            }
        }
        if let data = dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] as? [String: Any] {
            assert(data.keys.allSatisfy { advertisement.keys.contains($0) })
        }
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: Error?) {
        if let error = error { return print("\(service.uuid) is not there: \(error.localizedDescription)") }
        published.insert(service.uuid)
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: Error?) {
        if let error = error as? CBError, error.code == .alreadyAdvertising {
            peripheral.stopAdvertising()
            peripheral.startAdvertising(advertisement)
        }
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        guard let characteristic = characteristic as? CBMutableCharacteristic else { return }
        subscribers[characteristic, default: []].insert(central)
        peripheral.setDesiredConnectionLatency(.low, for: central)
        if characteristic == measurement { runTimer() }
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) {
        guard let characteristic = characteristic as? CBMutableCharacteristic else { return }
        subscribers[characteristic]?.remove(central)
        if measurement.subscribedCentrals?.isEmpty ?? true {
            timer?.cancel()
            timer = nil
        }
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        switch answer(to: request.characteristic, offset: request.offset) {
        case .success(let data):
            request.value = data
            peripheral.respond(to: request, withResult: .success)
        case .failure(let error):
            peripheral.respond(to: request, withResult: error.code)
        }
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        for request in requests {
            let result = take(request.value, for: request.characteristic, offset: request.offset)
            guard result == .success else {
                peripheral.respond(to: first, withResult: result)
                return
            }
        }
        peripheral.respond(to: first, withResult: CBATTError.success)
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
        let waiting = pending
        pending.removeAll()
        for (value, characteristic, centrals) in waiting { push(value, characteristic, centrals) }
    }
}
