import CoreBluetooth
import Foundation

// Apple's callbacks as `async` functions and sequences.

/// What was heard, as a value that may go anywhere.
struct Sighting: Sendable, Identifiable {
    let id: UUID
    let peripheral: CBPeripheral
    let name: String?
    let services: [CBUUID]
    let rssi: Int
}

enum AsyncCentralError: Error, Sendable, Equatable {
    case unavailable(CBManagerState)
    case alreadyConnecting
    case disconnected
}

/// One thread at a time: the manager's queue is the guard of everything.
final class AsyncCentral: NSObject, @unchecked Sendable {
    private let queue: DispatchQueue
    private var manager: CBCentralManager?
    private var readiness: [CheckedContinuation<Void, any Error>] = []
    private var connections: [UUID: CheckedContinuation<Void, any Error>] = [:]
    private var sightings: AsyncStream<Sighting>.Continuation?

    init(queue: DispatchQueue = DispatchQueue(label: "async.central")) {
        self.queue = queue
        super.init()
    }

    func waitUntilReady() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            queue.async { [self] in
                if manager == nil { manager = CBCentralManager(delegate: self, queue: queue) }
                if manager?.state == .poweredOn { return continuation.resume() }
                readiness.append(continuation)
            }
        }
    }

    func scan(for services: [CBUUID]? = nil) -> AsyncStream<Sighting> {
        AsyncStream { continuation in
            queue.async { [self] in
                sightings?.finish()
                sightings = continuation
                manager?.scanForPeripherals(
                    withServices: services, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
            }
            continuation.onTermination = { [weak self] _ in
                guard let self else { return }
                queue.async { self.manager?.stopScan() }
            }
        }
    }

    func connect(_ peripheral: CBPeripheral) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                queue.async { [self] in
                    guard connections[peripheral.identifier] == nil else {
                        return continuation.resume(throwing: AsyncCentralError.alreadyConnecting)
                    }
                    connections[peripheral.identifier] = continuation
                    manager?.connect(peripheral, options: nil)
                }
            }
        } onCancel: {
            queue.async { self.manager?.cancelPeripheralConnection(peripheral) }
        }
    }

    /// Without a manager: what its callbacks bring about.
    func handle(_ state: CBManagerState) {
        guard state != .unknown, state != .resetting else { return }
        let waiting = readiness
        readiness = []
        for continuation in waiting {
            if state == .poweredOn {
                continuation.resume()
            } else {
                continuation.resume(throwing: AsyncCentralError.unavailable(state))
            }
        }
    }

    private func finish(_ peripheral: CBPeripheral, _ result: Result<Void, any Error>) {
        connections.removeValue(forKey: peripheral.identifier)?.resume(with: result)
    }
}

extension AsyncCentral: CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) { handle(central.state) }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        sightings?.yield(
            Sighting(
                id: peripheral.identifier, peripheral: peripheral,
                name: advertisementData[CBAdvertisementDataLocalNameKey] as? String,
                services: advertisementData[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID] ?? [],
                rssi: RSSI.intValue))
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        finish(peripheral, .success(()))
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        finish(peripheral, .failure(error ?? CBError(.connectionFailed)))
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        finish(peripheral, .failure(error ?? AsyncCentralError.disconnected))
    }
}

/// Reads and writes of one peripheral, each awaited.
actor PeripheralReader {
    /// The delegate, whose methods belong to nobody: it sends on what it hears.
    private final class Listener: NSObject, CBPeripheralDelegate, Sendable {
        enum Event: Sendable {
            case services(Result<[CBService], any Error>)
            case value(CBUUID, Result<Data, any Error>)
            case written(CBUUID, (any Error)?)
        }

        let events: AsyncStream<Event>
        private let continuation: AsyncStream<Event>.Continuation

        override init() {
            (events, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(64))
            super.init()
        }

        func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
            continuation.yield(.services(error.map { .failure($0) } ?? .success(peripheral.services ?? [])))
        }

        func peripheral(
            _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
        ) {
            let result: Result<Data, any Error> = error.map { .failure($0) } ?? .success(characteristic.value ?? Data())
            continuation.yield(.value(characteristic.uuid, result))
        }

        func peripheral(
            _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
        ) {
            continuation.yield(.written(characteristic.uuid, error))
        }
    }

    private let peripheral: CBPeripheral
    private let listener = Listener()
    private var values: [CBUUID: Data] = [:]

    init(_ peripheral: sending CBPeripheral) {
        self.peripheral = peripheral
        peripheral.delegate = listener
    }

    func services(_ uuids: [CBUUID]?) async throws -> [CBService] {
        peripheral.discoverServices(uuids)
        for await case .services(let result) in listener.events { return try result.get() }
        throw CancellationError()
    }

    func read(_ characteristic: CBCharacteristic) async throws -> Data {
        peripheral.readValue(for: characteristic)
        for await case .value(characteristic.uuid, let result) in listener.events {
            let value = try result.get()
            values[characteristic.uuid] = value
            return value
        }
        throw CancellationError()
    }

    func write(_ data: Data, to characteristic: CBCharacteristic) async throws {
        peripheral.writeValue(data, for: characteristic, type: .withResponse)
        for await case .written(characteristic.uuid, let error) in listener.events {
            if let error { throw error }
            return
        }
    }
}

/// Values that go between actors, and errors that a function names.
enum Strict {
    static func check(_ result: CBATTError.Code) throws(CBATTError) {
        guard result == .success else { throw CBATTError(result) }
    }

    static func identifiers(of peripherals: sending [CBPeripheral]) async -> Set<UUID> {
        await Task.detached { Set(peripherals.map(\.identifier)) }.value
    }

    /// One task for each service, as apps discover in parallel.
    static func outline(_ services: [CBMutableService]) async -> [String] {
        await withTaskGroup(of: (Int, [String]).self) { group in
            for (index, service) in services.enumerated() { group.addTask { (index, service.outline()) } }
            var outlines: [Int: [String]] = [:]
            for await (index, lines) in group { outlines[index] = lines }
            return outlines.sorted { $0.key < $1.key }.flatMap(\.value)
        }
    }
}
