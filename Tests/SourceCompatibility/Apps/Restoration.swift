// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth
import Foundation

/// The devices that an app knows, over its launches.
struct KnownDevices {
    private let defaults: UserDefaults
    private let key = "knownDevices"

    init(defaults: UserDefaults = .standard) { self.defaults = defaults }

    var identifiers: [UUID] {
        get {
            let strings = defaults.stringArray(forKey: key) ?? []
            return strings.compactMap { UUID(uuidString: $0) }
        }
        nonmutating set { defaults.set(newValue.map { $0.uuidString }, forKey: key) }
    }

    func remember(_ peripheral: CBPeripheral) { remember(peripheral.identifier) }

    func remember(_ identifier: UUID) {
        guard !identifiers.contains(identifier) else { return }
        identifiers.append(identifier)
    }

    func forget(_ identifier: UUID) { identifiers.removeAll { $0 == identifier } }
}

/// Comes back to its devices after every launch, by restoration or by their identifiers.
final class ReconnectingCentral: NSObject {
    static let identifier = "org.example.reconnecting"

    private var centralManager: CBCentralManager!
    private let known: KnownDevices
    private var peripherals: [UUID: CBPeripheral] = [:]
    private var restored: [CBPeripheral]?
    private let services: [CBUUID]
    var onState: ((UUID, CBPeripheralState) -> Void)?

    init(known: KnownDevices = KnownDevices(), services: [CBUUID] = [.heartRateService]) {
        self.known = known
        self.services = services
    }

    func launch() {
        centralManager = CBCentralManager(
            delegate: self, queue: .main,
            options: [
                CBCentralManagerOptionRestoreIdentifierKey: ReconnectingCentral.identifier,
                CBCentralManagerOptionShowPowerAlertKey: false,
            ])
    }

    private func adopt(_ peripheral: CBPeripheral) {
        peripherals.updateValue(peripheral, forKey: peripheral.identifier)
        peripheral.delegate = self
        known.remember(peripheral)
    }

    private func proceed(with peripheral: CBPeripheral) {
        switch peripheral.state {
        case .connected:
            if let services = peripheral.services, !services.isEmpty {
                resubscribe(peripheral)
            } else {
                peripheral.discoverServices(services)
            }
        case .connecting: break
        case .disconnected, .disconnecting: centralManager.connect(peripheral, options: nil)
        @unknown default: break
        }
        onState?(peripheral.identifier, peripheral.state)
    }

    private func resubscribe(_ peripheral: CBPeripheral) {
        let silent = peripheral.allCharacteristics.filter { !$0.isNotifying && $0.properties.isSubscribable }
        silent.forEach { peripheral.setNotifyValue(true, for: $0) }
    }
}

extension ReconnectingCentral: CBCentralManagerDelegate {
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        restored = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral]
        restored?.forEach(adopt)
        let scanned = dict[CBCentralManagerRestoredStateScanServicesKey] as? [CBUUID] ?? []
        let options = dict[CBCentralManagerRestoredStateScanOptionsKey] as? [String: Any]
        let duplicates = options?[CBCentralManagerScanOptionAllowDuplicatesKey] as? Bool
        print("restored \(restored?.count ?? 0), scanning for \(scanned.strings), \(duplicates == true)")
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        guard central.state == .poweredOn else { return }
        for peripheral in central.retrievePeripherals(withIdentifiers: known.identifiers) { adopt(peripheral) }
        for peripheral in central.retrieveConnectedPeripherals(withServices: services)
        where peripherals[peripheral.identifier] == nil {
            adopt(peripheral)
        }
        if peripherals.isEmpty {
            central.scanForPeripherals(
                withServices: services, options: [CBCentralManagerScanOptionSolicitedServiceUUIDsKey: services])
        }
        peripherals.values.forEach(proceed(with:))
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        adopt(peripheral)
        central.stopScan()
        proceed(with: peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) { proceed(with: peripheral) }

    func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
        if let error = error as? CBError, case .peerRemovedPairingInformation = error.code {
            known.forget(peripheral.identifier)
            peripherals[peripheral.identifier] = nil
        } else {
            proceed(with: peripheral)
        }
    }
}

extension ReconnectingCentral: CBPeripheralDelegate {
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
        peripheral.services?.forEach { peripheral.discoverCharacteristics(nil, for: $0) }
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
        resubscribe(peripheral)
    }

    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        peripheral.discoverServices(invalidatedServices.map { $0.uuid })
    }
}
