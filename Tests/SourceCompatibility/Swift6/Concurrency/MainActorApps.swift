@preconcurrency import CoreBluetooth
import Foundation

// Apps whose objects belong to the main actor, and whose managers call on the main queue.

/// Its delegate methods are the main actor's, too, and say so to the compiler by `@preconcurrency`.
@MainActor
final class MainActorScanner: NSObject {
    private(set) var names: [UUID: String] = [:]
    private(set) var state = CBManagerState.unknown
    private lazy var central = CBCentralManager(delegate: self, queue: .main)
    private var waiters: [CheckedContinuation<Void, any Error>] = []

    var isAwaited: Bool { !waiters.isEmpty }

    func start() { _ = central.state }

    func ready() async throws {
        if state == .poweredOn { return }
        try await withCheckedThrowingContinuation { waiters.append($0) }
    }

    func changed(to state: CBManagerState) {
        self.state = state
        guard state != .unknown, state != .resetting else { return }
        let waiters = self.waiters
        self.waiters = []
        for waiter in waiters {
            if state == .poweredOn { waiter.resume() } else { waiter.resume(throwing: CBError(.operationNotSupported)) }
        }
    }
}

extension MainActorScanner: @preconcurrency CBCentralManagerDelegate {
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        changed(to: central.state)
        if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        names[peripheral.identifier] =
            advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? peripheral.name ?? "?"
    }
}

/// Its delegate methods are nobody's, and hop over.
@MainActor
final class HoppingThermometer: NSObject {
    private(set) var celsius: Double?
    private(set) var failures: [String] = []
    private var peripheral: CBPeripheral?

    func attach(_ peripheral: CBPeripheral) {
        self.peripheral = peripheral
        peripheral.delegate = self
        peripheral.discoverServices([.healthThermometer])
    }

    func take(_ data: Data) { celsius = TemperatureMeasurement(data: data)?.celsius }
    func take(failure: any Error) { failures.append(failure.localizedDescription) }
}

extension HoppingThermometer: CBPeripheralDelegate {
    nonisolated func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        for service in peripheral.services ?? [] {
            peripheral.discoverCharacteristics([.temperatureMeasurement], for: service)
        }
    }

    nonisolated func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        guard let characteristic = service[.temperatureMeasurement] else { return }
        peripheral.setNotifyValue(true, for: characteristic)
    }

    nonisolated func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        let value = characteristic.value
        Task { @MainActor in
            if let error {
                take(failure: error)
            } else if let value {
                take(value)
            }
        }
    }

    nonisolated func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: NSNumber, error: (any Error)?) {
        MainActor.assumeIsolated { if RSSI.intValue < -90 { failures.append("far") } }
    }
}

/// A conformance that belongs to the main actor.
@MainActor
final class IsolatedServer: NSObject, @MainActor CBPeripheralManagerDelegate {
    private var manager: CBPeripheralManager?
    private(set) var subscribers: Set<CBCentral> = []
    let characteristic = CBMutableCharacteristic(
        type: .batteryLevel, properties: [.read, .notify], value: nil, permissions: .readable)

    func start() { manager = CBPeripheralManager(delegate: self, queue: .main) }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        let service = CBMutableService(type: .batteryService, primary: true)
        service.characteristics = [characteristic]
        peripheral.add(service)
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) {
        subscribers.insert(central)
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        request.value = Data([100])
        peripheral.respond(to: request, withResult: .success)
    }
}
