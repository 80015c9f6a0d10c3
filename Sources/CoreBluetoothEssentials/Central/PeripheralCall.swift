import BluetoothCore
import BluetoothHost
import GATT

/// What an app asks of a peripheral. A value and no closure, so that a call on the loop allocates nothing.
enum PeripheralCall: Sendable {
    typealias Filter = Set<BluetoothUUID>?

    case discoverServices(Filter)
    case discoverIncludedServices(CBService, Filter)
    case discoverCharacteristics(CBService, Filter)
    case discoverDescriptors(CBCharacteristic)
    case read(CBCharacteristic)
    case readDescriptor(CBDescriptor)
    case write(CBCharacteristic, [UInt8])
    case writeWithoutResponse(CBCharacteristic, [UInt8])
    case signedWrite(CBCharacteristic, [UInt8])
    case datedWrite(CBCharacteristic, [UInt8], isSigned: Bool, until: Instant)
    case writeDescriptor(CBDescriptor, [UInt8])
    case setNotify(CBCharacteristic, Bool)
    case readRSSI
    case openChannel(CBL2CAPPSM)
}

extension CentralCore {
    /// Runs a call on a peripheral on the loop; ignored, as with Apple, unless the adapter is on.
    func submit(_ call: PeripheralCall, for peripheral: CBPeripheral) {
        guard isPoweredOn("operations of a peripheral") else { return }
        if handle.executor.join() != nil { return run(call, peripheral) }
        handle.executor.execute { _ in self.run(call, peripheral) }
    }

    private func run(_ call: PeripheralCall, _ peripheral: CBPeripheral) {
        guard id != nil else { return }
        switch call {
        case .discoverServices(let filter): discoverServices(peripheral, filter)
        case .discoverIncludedServices(let service, let filter):
            discoverIncludedServices(peripheral, service, filter)
        case .discoverCharacteristics(let service, let filter): discoverCharacteristics(peripheral, service, filter)
        case .discoverDescriptors(let characteristic): discoverDescriptors(peripheral, characteristic)
        case .read(let characteristic): read(peripheral, characteristic)
        case .readDescriptor(let descriptor): read(peripheral, descriptor)
        case .write(let characteristic, let value): write(peripheral, characteristic, value)
        case .writeWithoutResponse(let characteristic, let value):
            writeWithoutResponse(peripheral, characteristic, value)
        case .signedWrite(let characteristic, let value): signedWrite(peripheral, characteristic, value)
        case .datedWrite(let characteristic, let value, let isSigned, let until):
            datedWrite(peripheral, characteristic, value, isSigned: isSigned, until: until)
        case .writeDescriptor(let descriptor, let value): write(peripheral, descriptor, value)
        case .setNotify(let characteristic, let enabled): setNotify(peripheral, characteristic, enabled)
        case .readRSSI: readRSSI(peripheral)
        case .openChannel(let psm): openChannel(peripheral, psm)
        }
    }
}
