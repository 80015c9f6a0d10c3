import BluetoothCore
import BluetoothCrypto

/// Core 5.4, Vol 3, Part G, 7.3 (Database Hash)
extension AttributeDatabase {
    /// What is hashed: declarations with their values, descriptors that a client configures without.
    ///
    /// Core 5.4, Vol 3, Part G, 7.3.1 (Database Hash calculation)
    package var hashedMessage: [UInt8] {
        var writer = ByteWriter(capacity: attributes.count * 12)
        for attribute in attributes {
            switch attribute.type {
            case .primaryService, .secondaryService, .include, .characteristic, .characteristicExtendedProperties:
                writer.write(attribute.handle.rawValue)
                attribute.type.encode(into: &writer)
                if case .static(let value) = attribute.content { writer.write(value) }
            case .characteristicUserDescription, .clientCharacteristicConfiguration, .serverCharacteristicConfiguration,
                .characteristicPresentationFormat, .characteristicAggregateFormat:
                writer.write(attribute.handle.rawValue)
                attribute.type.encode(into: &writer)
            default: break
            }
        }
        return writer.bytes
    }

    /// The hash as its characteristic's value: 16 octets, least significant first, as all of ATT.
    package var hash: [UInt8] {
        let mac = CMAC(key: Secret([UInt8](repeating: 0, count: 16))).authenticate(hashedMessage)
        var writer = ByteWriter(capacity: 16)
        writer.write(mac)
        return writer.bytes
    }
}
