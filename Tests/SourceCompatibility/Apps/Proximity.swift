import CoreBluetooth
import Foundation

/// How far a device is, by its signal: smoothed, with a zone that it must leave clearly.
struct ProximityEstimate {
    enum Zone: Int, Comparable {
        case immediate, near, far, unknown

        static func < (a: Zone, b: Zone) -> Bool { return a.rawValue < b.rawValue }
    }

    private var samples: [Double] = []
    var measuredPower = -59.0
    var pathLoss = 2.0
    private(set) var zone = Zone.unknown

    mutating func add(_ rssi: NSNumber) {
        guard rssi.intValue < 0 else { return }
        samples.append(rssi.doubleValue)
        if samples.count > 10 { samples.removeFirst(samples.count - 10) }
        let new = ProximityEstimate.zone(of: distance)
        if new != zone { zone = new }
    }

    var mean: Double {
        guard !samples.isEmpty else { return 0 }
        return samples.reduce(0, +) / Double(samples.count)
    }

    /// Metres.
    var distance: Double {
        guard !samples.isEmpty else { return .infinity }
        return pow(10, (measuredPower - mean) / (10 * pathLoss))
    }

    static func zone(of distance: Double) -> Zone {
        switch distance {
        case ..<0.5: return .immediate
        case 0.5..<4: return .near
        case 4..<100: return .far
        default: return .unknown
        }
    }
}

/// Logs how near each known device is. A plain Swift class: delegates need no `NSObject`.
final class ProximityLogger: CBCentralManagerDelegate, CBPeripheralDelegate {
    struct Entry: Codable, Equatable {
        var identifier: UUID
        var name: String?
        var rssi: Int
        var date: Date
    }

    private var central: CBCentralManager?
    private var estimates: [UUID: ProximityEstimate] = [:]
    private var connected: Set<CBPeripheral> = []
    private(set) var log: [Entry] = []
    private let limit: Int
    private let now: () -> Date
    var zoneChanged: ((CBPeripheral, ProximityEstimate.Zone) -> Void)?

    init(limit: Int = 1000, now: @escaping () -> Date = Date.init) {
        self.limit = limit
        self.now = now
    }

    func start(queue: DispatchQueue) {
        central = CBCentralManager(delegate: self, queue: queue, options: nil)
    }

    func record(_ identifier: UUID, name: String?, rssi: NSNumber) {
        log.append(Entry(identifier: identifier, name: name, rssi: rssi.intValue, date: now()))
        if log.count > limit { log.removeFirst(log.count - limit) }
        estimates[identifier, default: ProximityEstimate()].add(rssi)
    }

    func zone(of identifier: UUID) -> ProximityEstimate.Zone { return estimates[identifier]?.zone ?? .unknown }

    func export() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        encoder.dateEncodingStrategy = .secondsSince1970
        return try encoder.encode(log)
    }

    func poll() {
        for peripheral in connected where peripheral.state == .connected { peripheral.readRSSI() }
    }

    private func note(_ peripheral: CBPeripheral, _ RSSI: NSNumber) {
        let before = zone(of: peripheral.identifier)
        record(peripheral.identifier, name: peripheral.name, rssi: RSSI)
        let after = zone(of: peripheral.identifier)
        if before != after { zoneChanged?(peripheral, after) }
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn else { return connected.removeAll() }
        central.scanForPeripherals(
            withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: NSNumber(booleanLiteral: true)])
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        note(peripheral, RSSI)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        connected.insert(peripheral)
        peripheral.delegate = self
        peripheral.readRSSI()
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: CFAbsoluteTime,
        isReconnecting: Bool, error: Error?
    ) {
        connected.remove(peripheral)
        let age = CFAbsoluteTimeGetCurrent() - timestamp
        if age < 60, !isReconnecting { estimates[peripheral.identifier] = nil }
    }

    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: Error?) {
        guard error == nil else { return }
        note(peripheral, RSSI)
    }
}
