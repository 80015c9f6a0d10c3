// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth
import Foundation

extension Notification.Name {
    static let sensorDidConnect = Notification.Name("SensorDidConnect")
    static let sensorDidRead = Notification.Name("SensorDidRead")
}

/// A client of pulse belts, thermometers and batteries: everything in one class, as tutorials have it.
class SensorClient: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate {
    var manager: CBCentralManager!
    var sensor: CBPeripheral!
    var readings: [SensorReading] = []
    var onReading: ((SensorReading) -> Void)?
    var onLog: (String) -> Void = { _ in }

    private let services: [CBUUID] = [.heartRateService, .batteryService, .healthThermometer]
    private var controlPoint: CBCharacteristic?
    private var attempts = 0

    func start(on queue: DispatchQueue? = nil) {
        manager = CBCentralManager(delegate: self, queue: queue)
    }

    func disconnect() {
        guard let sensor = sensor else { return }
        if sensor.state == .connected || sensor.state == .connecting {
            manager.cancelPeripheralConnection(sensor)
        }
    }

    func resetEnergy() {
        guard let controlPoint = controlPoint else { return }
        sensor.writeValue(Data([0x01]), for: controlPoint, type: .withResponse)
    }

    func take(_ characteristic: CBCharacteristic) {
        guard let reading = SensorReading(characteristic) else {
            onLog("\(characteristic.uuid) has nothing to say")
            return
        }
        readings.append(reading)
        onReading?(reading)
        NotificationCenter.default.post(
            name: .sensorDidRead, object: self, userInfo: ["reading": reading, "uuid": characteristic.uuid])
    }

    // MARK: - CBCentralManagerDelegate

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        switch central.state {
        case CBManagerState.poweredOn:
            onLog("scanning")
            manager.scanForPeripherals(withServices: services)
        case .poweredOff, .unauthorized, .unsupported:
            onLog("cannot scan: \(central.state.name)")
            sensor = nil
        default:
            onLog("central.state is \(central.state.rawValue)")
        }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
        advertisementData: [String: Any], rssi RSSI: NSNumber
    ) {
        onLog("found \(peripheral)")
        sensor = peripheral
        sensor.delegate = self
        manager.stopScan()
        manager.connect(
            sensor,
            options: [
                CBConnectPeripheralOptionNotifyOnConnectionKey: true,
                CBConnectPeripheralOptionNotifyOnDisconnectionKey: true,
                CBConnectPeripheralOptionNotifyOnNotificationKey: NSNumber(value: true),
            ])
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        attempts = 0
        NotificationCenter.default.post(name: .sensorDidConnect, object: nil, userInfo: ["peripheral": peripheral])
        peripheral.discoverServices(services)
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: Error?) {
        attempts += 1
        onLog("attempt \(attempts): \(error?.localizedDescription ?? "no reason")")
        if attempts < 3 { central.connect(peripheral, options: nil) }
    }

    func centralManager(_ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: Error?) {
        controlPoint = nil
        if let error = error {
            onLog("lost: \(error.localizedDescription)")
            central.connect(peripheral)
        } else {
            sensor = nil
        }
    }

    // MARK: - CBPeripheralDelegate

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
        guard error == nil else { return onLog("no services: \(error!.localizedDescription)") }
        guard let services = peripheral.services else { return }
        for service in services {
            onLog(service.uuid.assignedName)
            peripheral.discoverCharacteristics(nil, for: service)
            peripheral.discoverIncludedServices(nil, for: service)
        }
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: Error?) {
        service.includedServices?.forEach { peripheral.discoverCharacteristics(nil, for: $0) }
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
        guard let characteristics = service.characteristics else { return }

        for characteristic in characteristics {
            if characteristic.properties.contains(.read) {
                peripheral.readValue(for: characteristic)
            }
            if characteristic.properties.contains(.notify) || characteristic.properties.contains(.indicate) {
                peripheral.setNotifyValue(true, for: characteristic)
            }
            if characteristic.uuid == .heartRateControlPoint {
                controlPoint = characteristic
            }
            peripheral.discoverDescriptors(for: characteristic)
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: Error?
    ) {
        for descriptor in characteristic.descriptors ?? []
        where descriptor.uuid.uuidString == CBUUIDCharacteristicUserDescriptionString {
            peripheral.readValue(for: descriptor)
        }
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: Error?) {
        guard let name = descriptor.value as? String, let uuid = descriptor.characteristic?.uuid else { return }
        onLog("\(uuid) is called \(name)")
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
    ) {
        onLog("\(characteristic.uuid): \(characteristic.isNotifying ? "subscribed" : "not subscribed")")
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
        if let error = error as? CBATTError {
            switch error.code {
            case .insufficientAuthentication, .insufficientEncryption:
                onLog("pair first")
            case .readNotPermitted:
                onLog("not for reading")
            case .success:
                break
            @unknown default:
                onLog("refused with \(error.code.rawValue)")
            }
            return
        }
        take(characteristic)
    }

    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
        onLog(error == nil ? "written" : "not written: \((error! as NSError).code)")
    }

    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        if invalidatedServices.contains(where: { services.contains($0.uuid) }) {
            peripheral.discoverServices(services)
        }
    }

    func peripheralDidUpdateName(_ peripheral: CBPeripheral) {
        onLog("renamed to \(String(describing: peripheral.name))")
    }
}
