// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth
import Foundation

// As apps were written before Swift checked who may touch what: one shared object, and everything on the main queue.

typealias ConnectCallback = (CBPeripheral?, Error?) -> Void
typealias ScanCallback = (_ peripherals: [CBPeripheral], _ isDone: Bool) -> Void

var isVerbose = false
let heartRateServiceCBUUID = CBUUID(string: "0x180D")
let heartRateMeasurementCharacteristicCBUUID = CBUUID(string: "2A37")

struct Constants {
    static var scanSeconds: TimeInterval = 5
    static let services = [heartRateServiceCBUUID, .batteryService]
    static let queueLabel = "org.example.bluetooth"
}

class BluetoothManager: NSObject {
    static let shared = BluetoothManager()
    static var logger: ((String) -> Void)?

    lazy var central = CBCentralManager(delegate: self, queue: nil)
    private(set) var peripherals = [CBPeripheral]()
    private(set) var signals = [UUID: NSNumber]()
    private var scanCallback: ScanCallback?
    private var connectCallbacks = [UUID: [ConnectCallback]]()
    private var scanTimer: Timer?
    weak var current: CBPeripheral?

    var isAvailable: Bool {
        get { return central.state == .poweredOn }
    }

    private override init() {
        super.init()
    }

    class func log(_ items: Any...) {
        guard isVerbose else { return }
        logger?(items.map { "\($0)" }.joined(separator: " "))
    }

    func scan(seconds: TimeInterval = Constants.scanSeconds, callback: @escaping ScanCallback) {
        scanCallback = callback
        peripherals.removeAll()
        central.scanForPeripherals(withServices: Constants.services, options: nil)
        scanTimer = Timer.scheduledTimer(withTimeInterval: seconds, repeats: false) { [weak self] _ in
            self?.stop()
        }
    }

    func stop() {
        central.stopScan()
        scanTimer?.invalidate()
        DispatchQueue.main.async {
            self.scanCallback?(self.peripherals, true)
            self.scanCallback = nil
        }
    }

    func connect(_ peripheral: CBPeripheral, then callback: @escaping ConnectCallback) {
        if peripheral.state == .connected {
            callback(peripheral, nil)
            return
        }
        connectCallbacks[peripheral.identifier, default: []].append(callback)
        central.connect(peripheral, options: nil)
        DispatchQueue.main.asyncAfter(deadline: .now() + 10) { [weak self, weak peripheral] in
            guard let self = self, let peripheral = peripheral, peripheral.state == .connecting else { return }
            self.central.cancelPeripheralConnection(peripheral)
            self.finish(peripheral, CBError(.connectionTimeout))
        }
    }

    func finish(_ peripheral: CBPeripheral, _ error: Error?) {
        let callbacks = connectCallbacks.removeValue(forKey: peripheral.identifier) ?? []
        callbacks.forEach { $0(error == nil ? peripheral : nil, error) }
    }

    func sorted() -> [CBPeripheral] {
        return peripherals.sorted {
            (signals[$0.identifier] ?? 0).compare(signals[$1.identifier] ?? 0) == .orderedDescending
        }
    }
}

// MARK: - CBCentralManagerDelegate
extension BluetoothManager: CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case .unknown:
            BluetoothManager.log("central.state is .unknown")
        case .resetting:
            BluetoothManager.log("central.state is .resetting")
        case .unsupported:
            BluetoothManager.log("central.state is .unsupported")
        case .unauthorized:
            BluetoothManager.log("central.state is .unauthorized")
        case .poweredOff:
            BluetoothManager.log("central.state is .poweredOff")
        case .poweredOn:
            BluetoothManager.log("central.state is .poweredOn")
        @unknown default:
            fatalError()
        }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        if !peripherals.contains(peripheral) {
            peripherals.append(peripheral)
        }
        signals[peripheral.identifier] = RSSI
        let name = advertisementData["kCBAdvDataLocalName"] as? String
        BluetoothManager.log(peripheral, name ?? "nil", advertisementData, RSSI)
        scanCallback?(peripherals, false)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        current = peripheral
        finish(peripheral, nil)
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
        finish(peripheral, error)
    }

    func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
        if let error = error as NSError?, CBError(_nsError: error).code != .peripheralDisconnected {
            BluetoothManager.log("lost", error.domain, error.code)
        }
        if peripheral.isEqual(current) { current = nil }
    }
}

/// One object for both roles, as programs of an afternoon have it.
class Walkie: NSObject, CBCentralManagerDelegate, CBPeripheralManagerDelegate, CBPeripheralDelegate {
    var centralManager = Optional<CBCentralManager>.none
    var peripheralManager: CBPeripheralManager?
    var heard = NSMutableArray()
    var devices = NSMutableDictionary()
    var transferCharacteristic: CBMutableCharacteristic?
    var dataToSend = Data()
    var sendDataIndex: Int = 0
    static var sendingEOM = false

    func switchOn() {
        centralManager = CBCentralManager(delegate: self, queue: DispatchQueue.global(qos: .background))
        peripheralManager = CBPeripheralManager(delegate: self, queue: nil)
    }

    /// What fits into one update, cut off what is still to be sent.
    func nextChunk(_ maximum: Int) -> Data? {
        guard sendDataIndex < dataToSend.count else { return nil }
        let amount = min(dataToSend.count - sendDataIndex, maximum)
        let chunk = dataToSend.subdata(in: sendDataIndex..<(sendDataIndex + amount))
        return chunk
    }

    func sendData() {
        guard let characteristic = transferCharacteristic, let manager = peripheralManager else { return }
        if Walkie.sendingEOM {
            let didSend = manager.updateValue("EOM".data(using: .utf8)!, for: characteristic, onSubscribedCentrals: nil)
            if didSend { Walkie.sendingEOM = false }
            return
        }
        let maximum = characteristic.subscribedCentrals?.map { $0.maximumUpdateValueLength }.min() ?? 20
        while let chunk = nextChunk(maximum) {
            if !manager.updateValue(chunk, for: characteristic, onSubscribedCentrals: nil) { return }
            sendDataIndex += chunk.count
        }
        Walkie.sendingEOM = true
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        if (central.state == CBManagerState.poweredOn) {
            central.scanForPeripherals(
                withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: false])
        }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        if !heard.contains(peripheral) {
            heard.add(peripheral)
        }
        devices.setObject(RSSI, forKey: peripheral.identifier.uuidString as NSString)
        objectFound(peripheral)
    }

    func objectFound(_ object: NSObjectProtocol) {
        BluetoothManager.log("found", object.hash, object.description)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        let characteristic = CBMutableCharacteristic(
            type: CBUUID(string: "FFF1"), properties: CBCharacteristicProperties.notify, value: nil,
            permissions: CBAttributePermissions.readable)
        let service = CBMutableService(type: CBUUID(string: "FFF0"), primary: true)
        service.characteristics =
            service.characteristics == nil ? [characteristic] : service.characteristics! + [characteristic]
        peripheral.add(service)
        transferCharacteristic = characteristic
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Walkie", CBAdvertisementDataServiceUUIDsKey: [service.uuid],
        ])
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        sendDataIndex = 0
        sendData()
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
        sendData()
    }
}
