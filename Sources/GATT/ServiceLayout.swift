import ATT
import BluetoothCore

/// Turns a definition into attributes, from its first handle on: the same definition always lies the same way.
///
/// Core 5.4, Vol 3, Part G, 3.1 (Service definition) to 3.3 (Characteristic definition)
struct ServiceLayout {
    private(set) var attributes: [AttributeDatabase.Attribute] = []
    private let first: AttributeHandle
    private let end: AttributeHandle
    private var cursor: AttributeHandle

    init(first: AttributeHandle, end: AttributeHandle) {
        self.first = first
        self.end = end
        cursor = first
    }

    mutating func lay(
        _ definition: ServiceDefinition, among services: [PublishedService]
    ) throws(AttributeDatabaseError) -> PublishedService {
        append(
            type: definition.isPrimary ? .primaryService : .secondaryService,
            content: .static(octets { definition.uuid.encode(into: &$0) }), groupEnd: end)
        for declaration in definition.includedServices {
            guard let service = services.first(where: { $0.declaration == declaration }) else {
                throw .unknownIncludedService
            }
            appendInclude(service)
        }
        var characteristics: [PublishedCharacteristic] = []
        for characteristic in definition.characteristics {
            characteristics.append(try append(characteristic))
        }
        return PublishedService(
            definition: definition, declaration: first, end: end, characteristics: characteristics)
    }

    /// Core 5.4, Vol 3, Part G, 3.2 (Include definition): a UUID of 128 bits is left out.
    private mutating func appendInclude(_ service: PublishedService) {
        let value = octets { writer in
            writer.write(service.declaration.rawValue)
            writer.write(service.end.rawValue)
            if let short = service.definition.uuid.short { writer.write(short) }
        }
        append(type: .include, content: .static(value))
    }

    private mutating func append(
        _ characteristic: CharacteristicDefinition
    ) throws(AttributeDatabaseError) -> PublishedCharacteristic {
        let valueHandle = cursor.next
        let declared = octets { writer in
            writer.write(characteristic.properties.rawValue)
            writer.write(valueHandle.rawValue)
            characteristic.uuid.encode(into: &writer)
        }
        let place = attributes.count
        let declaration = append(type: .characteristic, content: .static(declared))
        append(
            type: characteristic.uuid, access: characteristic.access, content: try content(characteristic.value))
        attributes[place + 1].properties = characteristic.properties
        if characteristic.isSubscribable {
            let requirement = characteristic.access.subscribe
            let access = AttributeAccess(
                read: .open, writeRequest: requirement, minimumKeySize: characteristic.access.minimumKeySize,
                requiresAuthorization: characteristic.access.requiresAuthorization)
            attributes[place + 1].configuration = append(
                type: .clientCharacteristicConfiguration, access: access, content: .configuration(of: valueHandle))
        }
        if characteristic.properties.contains(.extendedProperties) {
            let value = octets { $0.write(characteristic.extendedProperties.rawValue) }
            append(type: .characteristicExtendedProperties, content: .static(value))
        }
        var descriptors: [AttributeHandle] = []
        for descriptor in characteristic.descriptors {
            descriptors.append(
                append(type: descriptor.uuid, access: descriptor.access, content: try content(descriptor.value)))
        }
        attributes[place].groupEnd = cursor.previous
        return PublishedCharacteristic(
            declaration: declaration, value: valueHandle, configuration: attributes[place + 1].configuration,
            descriptors: descriptors)
    }

    @discardableResult
    private mutating func append(
        type: BluetoothUUID, access: AttributeAccess = .readOnly, content: AttributeDatabase.Attribute.Content,
        groupEnd: AttributeHandle? = nil
    ) -> AttributeHandle {
        defer { cursor = cursor.next }
        attributes.append(
            AttributeDatabase.Attribute(
                handle: cursor, type: type, access: access, content: content, groupEnd: groupEnd ?? cursor))
        return cursor
    }

    private func content(
        _ value: AttributeValue
    ) throws(AttributeDatabaseError) -> AttributeDatabase.Attribute.Content {
        switch value {
        case .dynamic: return .dynamic
        case .static(let octets):
            guard octets.count <= ATTBound.attributeValueOctets else { throw .valueTooLong }
            return .static(octets)
        }
    }

    private func octets(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
        var writer = ByteWriter(capacity: 20)
        write(&writer)
        return writer.bytes
    }
}
