import BluetoothHost
import CoreBluetoothEssentials
import Dispatch
import FoundationEssentials
import HCI
import SecurityManager

/// A door that publishes one service and writes down what it hears. Its delegate is called in one place only, the loop or
/// one queue, and tests look at it when that place is still.
final class Door: CBPeripheralManagerLinkDelegate, @unchecked Sendable {
    static let service = CBUUID(string: "FFF0")
    static let readable = CBUUID(string: "FFF1")
    static let writable = CBUUID(string: "FFF2")
    static let notifying = CBUUID(string: "FFF3")
    static let fixed = CBUUID(string: "FFF4")
    static let guarded = CBUUID(string: "FFF5")

    private(set) var manager: CBPeripheralManager?
    private(set) var log: [String] = []
    private(set) var restored: [String: Any] = [:]
    private(set) var requests: [CBATTRequest] = []
    private(set) var links = 0
    private(set) var paired = 0
    private(set) var published: CBMutableService?
    private(set) var centrals: [CBCentral] = []
    /// Of the characteristic that each subscription was about, as it was heard.
    private(set) var subscriberCounts: [Int] = []
    var value = Data([1, 2, 3])
    private let queue: DispatchQueue?
    /// Publishes its service in every life, as an app does that takes nothing over.
    private let addsAlways: Bool
    private let makesService: () -> CBMutableService

    init(
        _ host: CBHost, identifier: String? = "door", queue: DispatchQueue? = nil, addsAlways: Bool = false,
        service: @escaping () -> CBMutableService = makeService
    ) {
        self.queue = queue
        self.addsAlways = addsAlways
        makesService = service
        manager = CBPeripheralManager(
            callbacks: self, delivery: queue.map { .queue($0) } ?? .inline,
            options: identifier.map { [CBPeripheralManagerOptionRestoreIdentifierKey: $0] }, host: host)
    }

    /// What the process had goes with it.
    func vanish() { manager = nil }

    static func makeService() -> CBMutableService {
        let service = CBMutableService(type: Self.service, primary: true)
        let readable = CBMutableCharacteristic(
            type: Self.readable, properties: .read, value: nil, permissions: .readable)
        readable.descriptors = [CBMutableDescriptor(type: CBUUID(string: "2901"), value: "State")]
        service.characteristics = [
            readable,
            CBMutableCharacteristic(
                type: writable, properties: [.write, .writeWithoutResponse, .authenticatedSignedWrites], value: nil,
                permissions: .writeable),
            CBMutableCharacteristic(type: notifying, properties: .notify, value: nil, permissions: []),
            CBMutableCharacteristic(type: fixed, properties: .read, value: Data([7]), permissions: .readable),
            CBMutableCharacteristic(
                type: guarded, properties: .read, value: nil, permissions: .readEncryptionRequired),
        ]
        return service
    }

    func has(_ line: String) -> Bool { log.contains(line) }

    func characteristic(_ uuid: CBUUID) -> CBMutableCharacteristic? {
        published?.characteristics?.first { $0.uuid == uuid } as? CBMutableCharacteristic
    }

    private func note(_ line: String) {
        if let queue { dispatchPrecondition(condition: .onQueue(queue)) }
        log.append(line)
    }

    private func note(_ line: String, countsSubscribersOf characteristic: CBCharacteristic) {
        note(line)
        subscriberCounts.append((characteristic as? CBMutableCharacteristic)?.subscribedCentrals?.count ?? 0)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        note("state \(peripheral.state)")
        if peripheral.state == .poweredOn, published == nil || addsAlways {
            let service = makesService()
            published = service
            peripheral.add(service)
        }
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        note("restore")
        restored = dict
        published = (dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService])?.first
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        note("added \(service.uuid)\(error == nil ? "" : " failed")")
        peripheral.startAdvertising([
            CBAdvertisementDataLocalNameKey: "Door", CBAdvertisementDataServiceUUIDsKey: [Self.service],
        ])
    }
    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        note("advertising\(error.map { " \($0._code)" } ?? "")")
    }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) { note("subscribed \(characteristic.uuid)", countsSubscribersOf: characteristic) }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) { note("unsubscribed \(characteristic.uuid)", countsSubscribersOf: characteristic) }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        note("read \(request.characteristic.uuid) from \(request.offset)")
        guard request.offset <= value.count else { return peripheral.respond(to: request, withResult: .invalidOffset) }
        request.value = Data(value.dropFirst(request.offset))
        peripheral.respond(to: request, withResult: .success)
    }
    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        note("write \(requests.count)")
        self.requests += requests
        guard let first = requests.first else { return }
        let isTooLong = requests.contains { ($0.value?.count ?? 0) > 200 }
        peripheral.respond(to: first, withResult: isTooLong ? .invalidAttributeValueLength : .success)
    }
    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) { note("ready") }

    func peripheralManager(_ peripheral: CBPeripheralManager, centralDidConnect central: CBCentral, link: LinkInfo) {
        links += 1
        centrals.append(central)
    }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, centralDidDisconnect central: CBCentral, link: LinkInfo,
        reason: HCIErrorCode
    ) { links -= 1 }
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didChangeSecurity link: LinkInfo, error: HostError?
    ) {}
    func peripheralManager(
        _ peripheral: CBPeripheralManager, displayPasskey passkey: UInt32, to central: CBCentral, link: LinkInfo
    ) {}
    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didPair result: Result<BondID, HostError>,
        link: LinkInfo
    ) { if case .success = result { paired += 1 } }
}

/// A key that scans for the door, connects to it and discovers it, and writes down what it hears.
final class Key: CBCentralManagerCallbacks, CBPeripheralLinkDelegate, @unchecked Sendable {
    private(set) var manager: CBCentralManager?
    private(set) var log: [String] = []
    private(set) var restored: [String: Any] = [:]
    private(set) var door: CBPeripheral?
    private(set) var errors: [(any Error)?] = []
    private(set) var values: [Data?] = []
    private(set) var counters: [UInt32?] = []
    private(set) var isPaired = false
    private(set) var isSecure = false
    private(set) var advertisement: [String: Any] = [:]
    /// What a relaunched key does: it discovers nothing.
    var discovers = true
    var reconnects = false
    private let queue: DispatchQueue?

    init(_ host: CBHost, identifier: String? = "pocket", queue: DispatchQueue? = nil) {
        self.queue = queue
        manager = CBCentralManager(
            callbacks: self, delivery: queue.map { .queue($0) } ?? .inline,
            options: identifier.map { [CBCentralManagerOptionRestoreIdentifierKey: $0] }, host: host)
    }

    func vanish() { manager = nil }

    func characteristic(_ uuid: CBUUID) -> CBCharacteristic? {
        door?.services?.first { $0.uuid == Door.service }?.characteristics?.first { $0.uuid == uuid }
    }

    func has(_ line: String) -> Bool { log.contains(line) }
    func count(_ line: String) -> Int { log.filter { $0 == line }.count }

    private func note(_ line: String, _ error: (any Error)? = nil) {
        if let queue { dispatchPrecondition(condition: .onQueue(queue)) }
        log.append(error == nil ? line : line + " failed")
        if let error { errors.append(error) }
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        note("state \(central.state)")
        guard central.state == .poweredOn, restored.isEmpty else { return }
        central.scanForPeripherals(withServices: [Door.service])
    }
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        note("restore")
        restored = dict
        door = (dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral])?.first
        door?.callbacks = self
        discovers = false
    }
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        note("discovered")
        advertisement = advertisementData
        guard door == nil else { return }
        door = peripheral
        peripheral.callbacks = self
        central.stopScan()
        central.connect(peripheral)
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        note("connected")
        if discovers { peripheral.discoverServices([Door.service]) }
    }
    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        note("not connected", error)
    }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        note("disconnected", error)
        isSecure = false
        if reconnects { central.connect(peripheral) }
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        note("services", error)
        for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
    }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) { note("characteristics", error) }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) { note("descriptors", error) }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        note("value \(characteristic.uuid)", error)
        values.append(characteristic.value)
    }
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
        note("descriptor", error)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) { note("written", error) }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) { note("notify \(characteristic.isNotifying)", error) }
    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: Int, error: (any Error)?) {
        note(RSSI < 0 ? "rssi" : "no rssi", error)
    }
    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        note("modified \(invalidatedServices.map(\.uuid.uuidString))")
    }

    func peripheral(_ peripheral: CBPeripheral, didChangeSecurity link: LinkInfo, error: HostError?) {
        isSecure = error == nil && link.isProven
    }
    func peripheral(_ peripheral: CBPeripheral, didPair result: Result<BondID, HostError>) {
        if case .success = result { isPaired = true }
    }
    func peripheral(
        _ peripheral: CBPeripheral, didSignValueFor characteristic: CBCharacteristic, counter: UInt32?,
        error: (any Error)?
    ) {
        note("signed", error)
        counters.append(counter)
    }
}
