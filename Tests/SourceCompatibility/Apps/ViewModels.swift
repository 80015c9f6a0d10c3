// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth
import Foundation

/// A value that views observe, as apps without a framework for it write it.
final class Observable<Value> {
    typealias Observer = (Value) -> Void

    private var observers: [UUID: Observer] = [:]
    var value: Value {
        didSet { observers.values.forEach { $0(value) } }
    }

    init(_ value: Value) { self.value = value }

    @discardableResult
    func observe(_ observer: @escaping Observer) -> UUID {
        let token = UUID()
        observers[token] = observer
        observer(value)
        return token
    }

    func remove(_ token: UUID) { observers.removeValue(forKey: token) }
}

/// The same as a wrapper.
@propertyWrapper
final class Published_<Value> {
    let projectedValue: Observable<Value>
    var wrappedValue: Value {
        get { projectedValue.value }
        set { projectedValue.value = newValue }
    }

    init(wrappedValue: Value) { projectedValue = Observable(wrappedValue) }
}

/// The screen with a list of devices.
final class DeviceListViewModel: NSObject, ScannerDelegate {
    struct Row: Equatable {
        var title: String
        var subtitle: String
        var bars: Int

        init(title: String, rssi: Int, services: [CBUUID]) {
            self.title = title
            subtitle = services.map(\.assignedName).sorted().joined(separator: ", ")
            bars = Row.bars(rssi)
        }

        static func bars(_ rssi: Int) -> Int {
            switch rssi {
            case (-55)...: return 4
            case -67 ..< -55: return 3
            case -80 ..< -67: return 2
            case -90 ..< -80: return 1
            default: return 0
            }
        }
    }

    @Published_ private(set) var rows: [Row] = []
    @Published_ var banner: String? = nil
    private let scanner: Scanner_

    init(scanner: Scanner_) {
        self.scanner = scanner
        super.init()
        scanner.delegate = self
    }

    var isFiltering: Bool { return scanner.minimumRSSI > -90 }

    func showOnlyNear(_ onlyNear: Bool) { scanner.minimumRSSI = onlyNear ? -60 : -90 }

    func scanner(_ scanner: Scanner_, didUpdate devices: [DiscoveredDevice]) {
        rows = devices.map { Row(title: $0.displayName, rssi: $0.rssi, services: $0.services) }
    }

    func scanner(_ scanner: Scanner_, didChange isReady: Bool, reason: String) {
        banner = isReady ? nil : reason
    }
}

/// The screen of one device: its services and values, by a tree of sections.
final class DeviceViewModel: NSObject, CBPeripheralDelegate {
    struct Section: Equatable {
        var title: String
        var items: [Item]
    }

    struct Item: Equatable, Hashable {
        var uuid: CBUUID
        var value: String
        var canWrite: Bool
        var canSubscribe: Bool

        init(_ characteristic: CBCharacteristic) {
            uuid = characteristic.uuid
            canWrite = characteristic.properties.isWritable
            canSubscribe = characteristic.properties.isSubscribable
            switch SensorReading(characteristic) {
            case .battery(let percent)?: value = "\(percent) %"
            case .pulse(let measurement)?: value = "\(measurement.beatsPerMinute) bpm"
            case .temperature(let measurement)?: value = String(format: "%.1f °C", measurement.celsius)
            case .location(let location)?: value = location.description
            case .unknown(_, let data)?: value = characteristic.text ?? data.hexString
            case nil: value = "–"
            }
        }
    }

    let sections = Observable<[Section]>([])
    let title: Observable<String>
    private weak var central: CBCentralManager?
    private var peripheral: CBPeripheral? {
        willSet { peripheral?.delegate = nil }
        didSet {
            peripheral?.delegate = self
            title.value = peripheral?.displayName ?? "Nothing"
        }
    }

    init(central: CBCentralManager?, peripheral: CBPeripheral?) {
        self.central = central
        self.peripheral = peripheral
        title = Observable(peripheral?.displayName ?? "Nothing")
        super.init()
        peripheral?.delegate = self
    }

    func show(_ services: [CBService]?) {
        sections.value = (services ?? []).map { service in
            Section(title: service.uuid.assignedName, items: (service.characteristics ?? []).map(Item.init))
        }
    }

    func connect() {
        guard let central = central, let peripheral = peripheral else { return }
        central.connect(peripheral, options: [CBConnectPeripheralOptionNotifyOnDisconnectionKey: true])
    }

    func write(_ hex: String, to item: Item) -> Bool {
        guard let data = Data(hexString: hex),
            let characteristic = peripheral?.allCharacteristics.first(where: { $0.uuid == item.uuid }),
            let type = characteristic.properties.writeType
        else { return false }
        peripheral?.writeValue(data, for: characteristic, type: type)
        return true
    }

    func name(_ descriptor: CBDescriptor, _ name: String) {
        peripheral?.writeValue(name.data(using: .utf8)!, for: descriptor)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) { show(peripheral.services) }
    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
        show(peripheral.services)
    }
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
        show(peripheral.services)
    }
    func peripheralDidUpdateName(_ peripheral: CBPeripheral) { title.value = peripheral.displayName }
}
