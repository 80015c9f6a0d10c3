import BluetoothCore

/// What a characteristic's value can be used for.
///
/// Core 5.4, Vol 3, Part G, 3.3.1.1 (Characteristic Properties)
package struct CharacteristicProperties: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let broadcast = Self(rawValue: 0x01)
    package static let read = Self(rawValue: 0x02)
    package static let writeWithoutResponse = Self(rawValue: 0x04)
    package static let write = Self(rawValue: 0x08)
    package static let notify = Self(rawValue: 0x10)
    package static let indicate = Self(rawValue: 0x20)
    package static let authenticatedSignedWrites = Self(rawValue: 0x40)
    package static let extendedProperties = Self(rawValue: 0x80)
}

/// Core 5.4, Vol 3, Part G, 3.3.3.1 (Characteristic Extended Properties)
package struct CharacteristicExtendedProperties: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    package static let reliableWrite = Self(rawValue: 0x0001)
    package static let writableAuxiliaries = Self(rawValue: 0x0002)
}

/// Where an attribute's value comes from.
package enum AttributeValue: Hashable, Sendable {
    /// Kept by the database, answered at once, never written by a peer.
    case `static`([UInt8])
    /// The app is asked at every read and write.
    case dynamic
}

/// A descriptor that an app publishes. The CCC and Extended Properties descriptors are not among them: they follow
/// from the characteristic's properties.
package struct DescriptorDefinition: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var access: AttributeAccess
    package var value: AttributeValue

    package init(uuid: BluetoothUUID, access: AttributeAccess = .readOnly, value: AttributeValue) {
        self.uuid = uuid
        self.access = access
        self.value = value
    }

    /// Core 5.4, Vol 3, Part G, 3.3.3.2 (Characteristic User Description)
    package static func userDescription(_ text: String) -> Self {
        Self(uuid: .characteristicUserDescription, value: .static(Array(text.utf8)))
    }

    /// Core 5.4, Vol 3, Part G, 3.3.3.5 (Characteristic Presentation Format)
    package static func presentationFormat(_ format: CharacteristicPresentationFormat) -> Self {
        Self(uuid: .characteristicPresentationFormat, value: .static(format.encoded))
    }
}

/// A characteristic that an app publishes.
package struct CharacteristicDefinition: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var properties: CharacteristicProperties
    /// Published as a descriptor when `properties` has the bit for it.
    package var extendedProperties: CharacteristicExtendedProperties
    package var access: AttributeAccess
    package var value: AttributeValue
    package var descriptors: [DescriptorDefinition]

    package init(
        uuid: BluetoothUUID, properties: CharacteristicProperties, access: AttributeAccess,
        value: AttributeValue = .dynamic, extendedProperties: CharacteristicExtendedProperties = [],
        descriptors: [DescriptorDefinition] = []
    ) {
        self.uuid = uuid
        self.properties = properties
        self.extendedProperties = extendedProperties
        self.access = access
        self.value = value
        self.descriptors = descriptors
    }

    /// A CCC descriptor follows from these.
    var isSubscribable: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }
}

/// A service that an app publishes. Together with its first handle it says every handle of the service: that pair is
/// what a store keeps.
///
/// Core 5.4, Vol 3, Part G, 3.1 (Service definition)
package struct ServiceDefinition: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var isPrimary: Bool
    /// Declarations of services published before this one.
    package var includedServices: [AttributeHandle]
    package var characteristics: [CharacteristicDefinition]

    package init(
        uuid: BluetoothUUID, isPrimary: Bool = true, includedServices: [AttributeHandle] = [],
        characteristics: [CharacteristicDefinition] = []
    ) {
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.includedServices = includedServices
        self.characteristics = characteristics
    }

    /// As many handles it takes, from its declaration on.
    package var attributeCount: Int {
        characteristics.reduce(1 + includedServices.count) { count, characteristic in
            count + 2 + characteristic.descriptors.count + (characteristic.isSubscribable ? 1 : 0)
                + (characteristic.properties.contains(.extendedProperties) ? 1 : 0)
        }
    }
}

/// A service in the database, with the handles that it was given.
package struct PublishedService: Hashable, Sendable {
    package var definition: ServiceDefinition
    package var declaration: AttributeHandle
    /// The last handle of the service.
    package var end: AttributeHandle
    package var characteristics: [PublishedCharacteristic]
}

package struct PublishedCharacteristic: Hashable, Sendable {
    package var declaration: AttributeHandle
    package var value: AttributeHandle
    /// The CCC descriptor.
    package var configuration: AttributeHandle?
    /// As `CharacteristicDefinition.descriptors`, in that order.
    package var descriptors: [AttributeHandle]
}
