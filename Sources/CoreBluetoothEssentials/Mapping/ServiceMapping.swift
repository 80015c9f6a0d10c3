import BluetoothCore
import FoundationEssentials
import GATT
import Synchronization

// Local services, on their way to the database and back from it.

extension CharacteristicDefinition {
    /// Throws what the app did wrong.
    init(_ characteristic: CBMutableCharacteristic) throws(CBError) {
        let state = characteristic.state.withLock { $0 }
        let properties = state.properties
        // Core 5.4, Vol 3, Part G, 3.3.1.1: what needs a descriptor that an app may not publish here.
        guard properties.isDisjoint(with: [.broadcast, .extendedProperties]) else { throw CBError(.invalidParameters) }
        let access = state.access ?? AttributeAccess(properties, state.permissions)
        if state.value != nil {
            // With Apple too: a kept value is only ever read.
            guard access.writeRequest == .forbidden, access.writeCommand == .forbidden, !access.signedWrite else {
                throw CBError(.invalidParameters)
            }
        }
        var descriptors: [DescriptorDefinition] = []
        for descriptor in state.descriptors ?? [] {
            descriptors.append(try DescriptorDefinition(descriptor))
        }
        self.init(
            uuid: characteristic.uuid.bluetoothUUID, properties: CharacteristicProperties(properties), access: access,
            value: state.value.map { .static(Array($0)) } ?? .dynamic, descriptors: descriptors)
    }
}

extension DescriptorDefinition {
    fileprivate init(_ descriptor: CBDescriptor) throws(CBError) {
        let type = descriptor.uuid.bluetoothUUID
        let reserved: [BluetoothUUID] = [
            .characteristicExtendedProperties, .clientCharacteristicConfiguration, .serverCharacteristicConfiguration,
        ]
        guard !reserved.contains(type), let value = descriptor.state.withLock({ $0.value }) else {
            throw CBError(.invalidParameters)
        }
        self.init(uuid: type, value: .static(value.octets))
    }
}

extension ServiceDefinition {
    /// Included services must have been published; their handles are read here.
    init(_ service: CBMutableService) throws(CBError) {
        var included: [AttributeHandle] = []
        for include in service.includedServices ?? [] {
            guard let range = include.range else { throw CBError(.invalidParameters) }
            included.append(range.lowerBound)
        }
        var characteristics: [CharacteristicDefinition] = []
        for characteristic in service.characteristics ?? [] {
            guard let characteristic = characteristic as? CBMutableCharacteristic else {
                throw CBError(.invalidParameters)
            }
            characteristics.append(try CharacteristicDefinition(characteristic))
        }
        self.init(
            uuid: service.uuid.bluetoothUUID, isPrimary: service.isPrimary, includedServices: included,
            characteristics: characteristics)
    }
}

extension CBMutableService {
    /// Takes the handles that the database gave.
    func take(_ published: PublishedService) {
        state.withLock { $0.range = published.declaration...max(published.declaration, published.end) }
        for (characteristic, handles) in zip(characteristics ?? [], published.characteristics) {
            characteristic.state.withLock {
                $0.handles = CBCharacteristic.Handles(
                    declaration: handles.declaration, value: handles.value, end: handles.value)
            }
        }
    }

    /// The handles are the database's again.
    func release() {
        state.withLock { $0.range = nil }
        for characteristic in characteristics ?? [] { characteristic.state.withLock { $0.handles = nil } }
    }

    /// A service as it stands in the database: what an app gets back after a relaunch.
    convenience init(restoring published: PublishedService) {
        let definition = published.definition
        self.init(type: CBUUID(definition.uuid), primary: definition.isPrimary)
        characteristics = definition.characteristics.map { CBMutableCharacteristic(restoring: $0) }
        take(published)
    }
}

extension CBMutableCharacteristic {
    fileprivate convenience init(restoring definition: CharacteristicDefinition) {
        let value: Data? = if case .static(let octets) = definition.value { Data(octets) } else { nil }
        self.init(
            type: CBUUID(definition.uuid),
            properties: CBCharacteristicProperties(definition.properties, definition.access), value: value,
            permissions: CBAttributePermissions(definition.access))
        access = definition.access
        descriptors = definition.descriptors.compactMap { descriptor in
            guard case .static(let octets) = descriptor.value else { return nil }
            let value = CBDescriptor.Value(octets, type: descriptor.uuid)
            return CBMutableDescriptor(restoring: CBUUID(descriptor.uuid), value: value)
        }
    }
}
