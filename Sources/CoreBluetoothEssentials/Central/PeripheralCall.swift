import ATT
import BluetoothCore
import BluetoothHost
import GATT

/// What an app's call on a peripheral becomes: it goes to the loop as this, runs as this, and ends as this in the delegate
/// method that the app waits for. A value and no closure, so that a call on the loop allocates nothing.
enum PeripheralCall: Sendable {
    typealias Filter = Set<BluetoothUUID>?

    /// The whole tree is discovered at once, and the app is shown the services that it asked for.
    case discoverServices(Filter)
    case discoverIncludedServices(CBService, Filter)
    case discoverCharacteristics(CBService, Filter)
    case discoverDescriptors(CBCharacteristic)
    case read(CBCharacteristic)
    case readDescriptor(CBDescriptor)
    case write(CBCharacteristic, [UInt8])
    case writeWithoutResponse(CBCharacteristic, [UInt8])
    case signedWrite(CBCharacteristic, [UInt8])
    /// Without response, and not later than it says.
    case datedWrite(CBCharacteristic, [UInt8], isSigned: Bool, until: Instant)
    case writeDescriptor(CBDescriptor, [UInt8])
    case setNotify(CBCharacteristic, Bool)
    case readRSSI
    case openChannel(CBL2CAPPSM)
}

/// What the host is asked for a call.
enum PeripheralRequest: Hashable, Sendable {
    /// Not later than `until`, where there is such a time.
    case perform(GATTClientOperation, until: Instant? = nil)
    /// The host keeps what this side is subscribed to; nil unsubscribes.
    case setNotify(value: AttributeHandle, configuration: AttributeHandle, SubscriptionRecord.Kind?)
    case read(LinkReading)
}

extension PeripheralCall {
    /// What the host is asked; nil where the attribute is not, or no longer, in the peer's tree, and where nothing is asked.
    func request(in tree: RemoteDatabase?) -> PeripheralRequest? {
        switch self {
        case .discoverServices: .perform(.discoverDatabase)
        case .discoverIncludedServices, .discoverCharacteristics, .discoverDescriptors, .openChannel: nil
        case .read(let characteristic):
            tree?.valueHandle(of: characteristic).map { .perform(.read($0)) }
        case .readDescriptor(let descriptor):
            tree?.known(descriptor).map { .perform(.read($0)) }
        case .write(let characteristic, let value):
            tree?.valueHandle(of: characteristic).map { .perform(.write($0, value)) }
        case .writeWithoutResponse(let characteristic, let value):
            tree?.valueHandle(of: characteristic).map { .perform(.writeWithoutResponse($0, value)) }
        case .signedWrite(let characteristic, let value):
            tree?.valueHandle(of: characteristic).map { .perform(.signedWriteWithoutResponse($0, value)) }
        case .datedWrite(let characteristic, let value, let isSigned, let until):
            tree?.valueHandle(of: characteristic).map {
                .perform(
                    isSigned ? .signedWriteWithoutResponse($0, value) : .writeWithoutResponse($0, value),
                    until: until)
            }
        // The Client Characteristic Configuration is written by `setNotify`.
        case .writeDescriptor(let descriptor, let value):
            descriptor.uuid.bluetoothUUID == .clientCharacteristicConfiguration
                ? nil : tree?.known(descriptor).map { .perform(.write($0, value)) }
        case .setNotify(let characteristic, let enabled):
            tree?.known(characteristic).flatMap { known in
                known.configuration.map { configuration in
                    let kind: SubscriptionRecord.Kind = known.properties.contains(.notify) ? .notify : .indicate
                    return .setNotify(
                        value: known.value, configuration: configuration, enabled ? kind : nil)
                }
            }
        case .readRSSI: .read(.rssi)
        }
    }
}

// MARK: What of a peer's tree an app's objects stand for

extension RemoteDatabase {
    func known(_ service: CBService) -> RemoteService? {
        guard let range = service.range, let found = self.service(at: range.lowerBound),
            found.uuid == service.uuid.bluetoothUUID
        else { return nil }
        return found
    }

    /// Its value handle, as long as it is in the tree: what ``known(_:)`` says, without a copy of the whole.
    func valueHandle(of characteristic: CBCharacteristic) -> AttributeHandle? {
        guard let value = characteristic.handles?.value,
            characteristicType(at: value) == characteristic.uuid.bluetoothUUID
        else { return nil }
        return value
    }

    func known(_ characteristic: CBCharacteristic) -> RemoteCharacteristic? {
        guard let handles = characteristic.handles, let found = self.characteristic(at: handles.value),
            found.uuid == characteristic.uuid.bluetoothUUID
        else { return nil }
        return found
    }

    func known(_ descriptor: CBDescriptor) -> AttributeHandle? {
        guard let handle = descriptor.handle,
            services.contains(where: { $0.declaration <= handle && handle <= $0.end })
        else { return nil }
        return handle
    }
}

extension RemoteCharacteristic {
    /// Its Client Characteristic Configuration descriptor.
    var configuration: AttributeHandle? {
        descriptors.first { $0.uuid == .clientCharacteristicConfiguration }?.handle
    }
}
