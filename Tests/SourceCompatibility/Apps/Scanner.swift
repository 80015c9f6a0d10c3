// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth

/// One row of the list of devices.
struct DiscoveredDevice: Identifiable, Hashable {
    let peripheral: CBPeripheral
    var advertisedName: String?
    var rssi: Int
    var services: [CBUUID]
    var manufacturerData: Data?
    var txPower: Int?
    var isConnectable: Bool
    var lastSeen: Date

    var id: UUID { return peripheral.identifier }
    var displayName: String { return advertisedName ?? peripheral.name ?? "Unnamed" }

    init(peripheral: CBPeripheral, advertisementData: [String: Any], rssi RSSI: NSNumber, at date: Date = Date()) {
        self.peripheral = peripheral
        advertisedName = advertisementData[CBAdvertisementDataLocalNameKey] as? String
        rssi = RSSI.intValue
        services = advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? []
        manufacturerData = advertisementData[CBAdvertisementDataManufacturerDataKey] as? Data
        txPower = (advertisementData[CBAdvertisementDataTxPowerLevelKey] as? NSNumber)?.intValue
        isConnectable = (advertisementData[CBAdvertisementDataIsConnectable] as? NSNumber)?.boolValue ?? false
        lastSeen = date
    }
}

/// Everything that an advertisement can say, without a peripheral: what lists and logs print.
struct AdvertisementSummary: Equatable, CustomStringConvertible {
    var name: String?
    var services: [String] = []
    var overflow: [String] = []
    var solicited: [String] = []
    var serviceData: [String: Data] = [:]
    var company: UInt16?
    var txPower: Double?
    var isConnectable = false

    init(_ advertisementData: [String: Any]) {
        for (key, value) in advertisementData {
            switch key {
            case CBAdvertisementDataLocalNameKey:
                name = value as? String
            case CBAdvertisementDataServiceUUIDsKey:
                services = (value as? [CBUUID])?.map { $0.uuidString } ?? []
            case CBAdvertisementDataOverflowServiceUUIDsKey:
                overflow = (value as? [CBUUID])?.map(\.uuidString) ?? []
            case CBAdvertisementDataSolicitedServiceUUIDsKey:
                solicited = (value as? NSArray)?.compactMap { ($0 as? CBUUID)?.uuidString } ?? []
            case CBAdvertisementDataServiceDataKey:
                guard let data = value as? [CBUUID: Data] else { continue }
                for (uuid, payload) in data { serviceData[uuid.uuidString] = payload }
            case CBAdvertisementDataManufacturerDataKey:
                guard let data = value as? NSData, data.length >= 2 else { continue }
                var bytes = [UInt8](repeating: 0, count: 2)
                data.getBytes(&bytes, length: 2)
                company = UInt16(bytes[0]) | UInt16(bytes[1]) << 8
            case CBAdvertisementDataTxPowerLevelKey:
                txPower = (value as? NSNumber)?.doubleValue
            case CBAdvertisementDataIsConnectable:
                isConnectable = value as? Bool ?? false
            default:
                continue
            }
        }
    }

    var description: String {
        var parts = [name ?? "(no name)"]
        if !services.isEmpty { parts.append(services.joined(separator: ",")) }
        if let company = company { parts.append(String(format: "company %04X", company)) }
        if let txPower = txPower { parts.append("\(txPower) dBm") }
        return parts.joined(separator: " | ")
    }
}

enum ScannerOrder: String, CaseIterable {
    case signal
    case name
    case age
}

protocol ScannerDelegate: AnyObject {
    func scanner(_ scanner: Scanner_, didUpdate devices: [DiscoveredDevice])
    func scanner(_ scanner: Scanner_, didChange isReady: Bool, reason: String)
}

/// A scanner with a threshold and an order, as in every app with a list of devices. (Foundation has a `Scanner` of its own.)
class Scanner_: NSObject {
    private(set) lazy var central = CBCentralManager(
        delegate: self, queue: queue, options: [CBCentralManagerOptionShowPowerAlertKey: NSNumber(value: false)])
    private let queue: DispatchQueue?
    private var found = [CBPeripheral: DiscoveredDevice]()
    private var ignored: Set<CBPeripheral> = []
    private var timer: Timer?

    weak var delegate: ScannerDelegate?

    var minimumRSSI = -90 {
        didSet { if minimumRSSI != oldValue { publish() } }
    }
    var order: ScannerOrder = .signal {
        didSet { publish() }
    }
    var wanted: [CBUUID]? {
        didSet { restart() }
    }

    init(queue: DispatchQueue? = nil) {
        self.queue = queue
        super.init()
    }

    deinit {
        timer?.invalidate()
    }

    func begin() {
        guard central.state == .poweredOn, !central.isScanning else { return }
        central.scanForPeripherals(
            withServices: wanted, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
    }

    func end() {
        if central.isScanning { central.stopScan() }
        timer?.invalidate()
        timer = nil
    }

    func ignore(_ peripheral: CBPeripheral) {
        ignored.insert(peripheral)
        found.removeValue(forKey: peripheral)
        publish()
    }

    func forget(olderThan seconds: TimeInterval, now: Date = Date()) {
        found = found.filter { now.timeIntervalSince($0.value.lastSeen) <= seconds }
        publish()
    }

    var devices: [DiscoveredDevice] {
        let near = found.values.filter { $0.rssi >= minimumRSSI }
        switch order {
        case .signal: return near.sorted { $0.rssi > $1.rssi }
        case .name: return near.sorted { ($0.displayName, $0.id.uuidString) < ($1.displayName, $1.id.uuidString) }
        case .age: return near.sorted(by: { $0.lastSeen > $1.lastSeen })
        }
    }

    static func explanation(of state: CBManagerState) -> String {
        switch state {
        case .unknown: return "Waiting for Bluetooth"
        case .resetting: return "Bluetooth is starting again"
        case .unsupported: return "This machine has no Bluetooth Low Energy"
        case .unauthorized: return "This app may not use Bluetooth"
        case .poweredOff: return "Bluetooth is off"
        case .poweredOn: return "Ready"
        @unknown default: return "State \(state.rawValue)"
        }
    }

    private func restart() {
        guard central.isScanning else { return }
        central.stopScan()
        found.removeAll(keepingCapacity: true)
        begin()
    }

    private func publish() {
        delegate?.scanner(self, didUpdate: devices)
    }
}

extension Scanner_: CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        let isReady = central.state == CBManagerState.poweredOn
        delegate?.scanner(self, didChange: isReady, reason: Scanner_.explanation(of: central.state))
        if isReady { begin() } else { found.removeAll() }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        // 127: the strength is not known.
        guard RSSI.intValue != 127, !ignored.contains(peripheral) else { return }
        let device = DiscoveredDevice(peripheral: peripheral, advertisementData: advertisementData, rssi: RSSI)
        if var known = found[peripheral] {
            known.rssi = (known.rssi * 3 + device.rssi) / 4
            known.advertisedName = device.advertisedName ?? known.advertisedName
            known.services = Array(Set(known.services).union(device.services))
            known.lastSeen = device.lastSeen
            found[peripheral] = known
        } else {
            found[peripheral] = device
        }
        publish()
    }
}
