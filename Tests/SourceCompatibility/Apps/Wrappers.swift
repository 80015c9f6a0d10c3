import CoreBluetooth
import Foundation

// Protocols over Apple's classes, which apps write so that their tests need no radio.

protocol PeripheralProtocol: NSObjectProtocol {
    var identifier: UUID { get }
    var name: String? { get }
    var state: CBPeripheralState { get }
    var services: [CBService]? { get }
    var delegate: CBPeripheralDelegate? { get set }
    var canSendWriteWithoutResponse: Bool { get }

    func discoverServices(_ serviceUUIDs: [CBUUID]?)
    func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService)
    func readValue(for characteristic: CBCharacteristic)
    func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType)
    func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic)
    func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int
    func readRSSI()
}

extension CBPeripheral: PeripheralProtocol {}

protocol CentralManaging: AnyObject {
    var delegate: CBCentralManagerDelegate? { get set }
    var state: CBManagerState { get }
    var isScanning: Bool { get }

    func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]?)
    func stopScan()
    func connect(_ peripheral: CBPeripheral, options: [String: Any]?)
    func cancelPeripheralConnection(_ peripheral: CBPeripheral)
    func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral]
    func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral]
}

extension CBCentralManager: CentralManaging {}

protocol PeripheralManaging: AnyObject {
    var isAdvertising: Bool { get }
    func add(_ service: CBMutableService)
    func startAdvertising(_ advertisementData: [String: Any]?)
    func stopAdvertising()
    func updateValue(
        _ value: Data, for characteristic: CBMutableCharacteristic, onSubscribedCentrals centrals: [CBCentral]?
    ) -> Bool
    func respond(to request: CBATTRequest, withResult result: CBATTError.Code)
}

extension CBPeripheralManager: PeripheralManaging {}

/// A central manager that remembers what it was asked.
final class MockCentral: CentralManaging {
    enum Call: Equatable {
        case scan([CBUUID]?, allowsDuplicates: Bool)
        case stopScan
        case connect(UUID)
        case cancel(UUID)
    }

    weak var delegate: CBCentralManagerDelegate?
    var state = CBManagerState.unknown
    private(set) var isScanning = false
    private(set) var calls: [Call] = []

    func scanForPeripherals(withServices serviceUUIDs: [CBUUID]?, options: [String: Any]?) {
        let allowsDuplicates = options?[CBCentralManagerScanOptionAllowDuplicatesKey] as? Bool ?? false
        calls.append(.scan(serviceUUIDs, allowsDuplicates: allowsDuplicates))
        isScanning = true
    }

    func stopScan() {
        calls.append(.stopScan)
        isScanning = false
    }

    func connect(_ peripheral: CBPeripheral, options: [String: Any]?) { calls.append(.connect(peripheral.identifier)) }
    func cancelPeripheralConnection(_ peripheral: CBPeripheral) { calls.append(.cancel(peripheral.identifier)) }
    func retrievePeripherals(withIdentifiers identifiers: [UUID]) -> [CBPeripheral] { return [] }
    func retrieveConnectedPeripherals(withServices serviceUUIDs: [CBUUID]) -> [CBPeripheral] { return [] }
}

/// A peripheral of nobody's, as unit tests have it.
final class MockPeripheral: NSObject, PeripheralProtocol {
    let identifier = UUID()
    var name: String?
    var state = CBPeripheralState.disconnected
    var services: [CBService]?
    weak var delegate: CBPeripheralDelegate?
    var canSendWriteWithoutResponse = true
    private(set) var written: [(Data, CBUUID)] = []
    private(set) var subscriptions: Set<CBUUID> = []

    init(name: String? = nil, services: [CBMutableService]? = nil) {
        self.name = name
        self.services = services
    }

    func discoverServices(_ serviceUUIDs: [CBUUID]?) {}
    func discoverCharacteristics(_ characteristicUUIDs: [CBUUID]?, for service: CBService) {}
    func readValue(for characteristic: CBCharacteristic) {}
    func writeValue(_ data: Data, for characteristic: CBCharacteristic, type: CBCharacteristicWriteType) {
        written.append((data, characteristic.uuid))
    }
    func setNotifyValue(_ enabled: Bool, for characteristic: CBCharacteristic) {
        if enabled { subscriptions.insert(characteristic.uuid) } else { subscriptions.remove(characteristic.uuid) }
    }
    func maximumWriteValueLength(for type: CBCharacteristicWriteType) -> Int { return type == .withResponse ? 512 : 20 }
    func readRSSI() {}
}

/// Makes managers: the one place that knows the options.
struct CentralFactory {
    var restoreIdentifier: String?
    var showsPowerAlert = false
    var queue: DispatchQueue? = DispatchQueue(label: "bluetooth.central", qos: .utility)

    var options: [String: Any]? {
        var options: [String: Any] = [CBCentralManagerOptionShowPowerAlertKey: showsPowerAlert]
        if let identifier = restoreIdentifier {
            options[CBCentralManagerOptionRestoreIdentifierKey] = identifier
        }
        return options.isEmpty ? nil : options
    }

    func make(delegate: CBCentralManagerDelegate?) -> CentralManaging {
        return CBCentralManager(delegate: delegate, queue: queue, options: options)
    }
}

/// Makes what a peripheral publishes out of a description.
enum ServiceFactory {
    struct Value {
        var uuid: String
        var properties: CBCharacteristicProperties
        var fixed: Data?
        var title: String?
    }

    static func service(_ uuid: String, _ values: [Value]) -> CBMutableService {
        let service = CBMutableService(type: CBUUID(string: uuid), primary: true)
        service.characteristics = values.map(characteristic)
        return service
    }

    static func characteristic(_ value: Value) -> CBMutableCharacteristic {
        let characteristic = CBMutableCharacteristic(
            type: CBUUID(string: value.uuid), properties: value.properties, value: value.fixed,
            permissions: permissions(value.properties))
        if let title = value.title {
            characteristic.descriptors = [
                CBMutableDescriptor(
                    type: CBUUID(string: CBUUIDCharacteristicUserDescriptionString), value: title as NSString)
            ]
        }
        return characteristic
    }

    static func permissions(_ properties: CBCharacteristicProperties) -> CBAttributePermissions {
        var permissions: CBAttributePermissions = []
        if properties.contains(.read) { permissions.insert(.readable) }
        if properties.isWritable { permissions.formUnion(.writeable) }
        return permissions
    }
}

/// Scans through whatever manages: the logic that the app's own tests look at.
final class ScanCoordinator<Manager: CentralManaging> {
    private let manager: Manager
    private let services: [CBUUID]
    private(set) var wantsScan = false

    init(manager: Manager, services: [CBUUID]) {
        self.manager = manager
        self.services = services
    }

    func toggle() {
        wantsScan.toggle()
        apply()
    }

    func stateChanged() { apply() }

    private func apply() {
        switch (wantsScan, manager.state, manager.isScanning) {
        case (true, .poweredOn, false):
            manager.scanForPeripherals(
                withServices: services.isEmpty ? nil : services,
                options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        case (false, _, true):
            manager.stopScan()
        default:
            break
        }
    }
}

/// A delegate that hands on to closures.
class ClosureDelegate: NSObject, CBCentralManagerDelegate {
    typealias Discovery = (peripheral: CBPeripheral, data: [String: Any], rssi: Int)

    var stateChanged: (CBManagerState) -> Void = { _ in }
    var discovered: ((Discovery) -> Void)?
    var connected: ((CBPeripheral) -> ())?
    var disconnected: ((CBPeripheral, Error?) -> ())?

    func centralManagerDidUpdateState(_ central: CBCentralManager) { stateChanged(central.state) }
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        discovered?((peripheral, advertisementData, RSSI.intValue))
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { connected?(peripheral) }
    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
        disconnected?(peripheral, error ?? CBError(.connectionFailed))
    }
    func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
        disconnected?(peripheral, error)
    }
}

/// A subclass that listens, too: what its base has is overridden.
final class CountingDelegate: ClosureDelegate {
    private(set) var updates = 0

    override func centralManagerDidUpdateState(_ central: CBCentralManager) {
        updates += 1
        super.centralManagerDidUpdateState(central)
    }
}
