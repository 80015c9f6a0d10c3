import BluetoothCore

/// A peer's tree as discovery found it. Keyed by the peer's Database Hash a store keeps it, and discovery is skipped
/// when the hash still matches.
///
/// Core 5.4, Vol 3, Part G, 2.5.2 (Attribute caching)
package struct RemoteDatabase: Hashable, Sendable {
    /// nil for a server without one: the cache then lasts as long as a bond and Service Changed let it.
    package var hash: [UInt8]?
    package var services: [RemoteService]

    package init(hash: [UInt8]? = nil, services: [RemoteService] = []) {
        self.hash = hash
        self.services = services
    }

    /// The first characteristic of the GATT service that is of this type.
    ///
    /// Core 5.4, Vol 3, Part G, 7 (Defined Generic Attribute Profile Service)
    package func gattServiceCharacteristic(_ uuid: BluetoothUUID) -> RemoteCharacteristic? {
        services.lazy.filter { $0.uuid == .gattService }.flatMap(\.characteristics).first { $0.uuid == uuid }
    }
}

package struct RemoteService: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var isPrimary: Bool
    package var declaration: AttributeHandle
    package var end: AttributeHandle
    package var includedServices: [RemoteIncludedService]
    package var characteristics: [RemoteCharacteristic]

    package init(
        uuid: BluetoothUUID, isPrimary: Bool = true, declaration: AttributeHandle, end: AttributeHandle,
        includedServices: [RemoteIncludedService] = [], characteristics: [RemoteCharacteristic] = []
    ) {
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.declaration = declaration
        self.end = end
        self.includedServices = includedServices
        self.characteristics = characteristics
    }
}

package struct RemoteIncludedService: Hashable, Sendable {
    package var handle: AttributeHandle
    package var uuid: BluetoothUUID
    package var declaration: AttributeHandle
    package var end: AttributeHandle

    package init(handle: AttributeHandle, uuid: BluetoothUUID, declaration: AttributeHandle, end: AttributeHandle) {
        self.handle = handle
        self.uuid = uuid
        self.declaration = declaration
        self.end = end
    }
}

package struct RemoteCharacteristic: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var properties: CharacteristicProperties
    package var declaration: AttributeHandle
    package var value: AttributeHandle
    /// The last handle of the characteristic: its descriptors lie between `value` and this.
    package var end: AttributeHandle
    package var descriptors: [RemoteDescriptor]

    package init(
        uuid: BluetoothUUID, properties: CharacteristicProperties, declaration: AttributeHandle, value: AttributeHandle,
        end: AttributeHandle, descriptors: [RemoteDescriptor] = []
    ) {
        self.uuid = uuid
        self.properties = properties
        self.declaration = declaration
        self.value = value
        self.end = end
        self.descriptors = descriptors
    }
}

package struct RemoteDescriptor: Hashable, Sendable {
    package var uuid: BluetoothUUID
    package var handle: AttributeHandle

    package init(uuid: BluetoothUUID, handle: AttributeHandle) {
        self.uuid = uuid
        self.handle = handle
    }
}
