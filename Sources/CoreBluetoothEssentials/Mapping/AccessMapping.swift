import GATT

// Apple says with two option sets what peers may do with a value; GATT has one requirement for each path to it.

extension CharacteristicProperties {
    /// The octet of the characteristic's declaration. "Encryption required" is a property of its own with Apple, and
    /// implies the property that it restricts.
    init(_ properties: CBCharacteristicProperties) {
        self.init(rawValue: UInt8(truncatingIfNeeded: properties.rawValue))
        if properties.contains(.notifyEncryptionRequired) { insert(.notify) }
        if properties.contains(.indicateEncryptionRequired) { insert(.indicate) }
    }
}

extension CBCharacteristicProperties {
    /// As discovered at a peer.
    init(_ properties: CharacteristicProperties) { self.init(rawValue: UInt(properties.rawValue)) }

    /// As published by this side: the two that only a server knows are read back from what subscribing requires.
    init(_ properties: CharacteristicProperties, _ access: AttributeAccess) {
        self.init(properties)
        guard access.subscribe.isEncrypted else { return }
        if contains(.notify) { insert(.notifyEncryptionRequired) }
        if contains(.indicate) { insert(.indicateEncryptionRequired) }
    }
}

extension AttributeAccess {
    /// A path is there when both the property and a permission say so.
    init(_ properties: CBCharacteristicProperties, _ permissions: CBAttributePermissions) {
        let read = AttributeRequirement(
            permissions, open: .readable, encrypted: .readEncryptionRequired)
        let write = AttributeRequirement(
            permissions, open: .writeable, encrypted: .writeEncryptionRequired)
        self.init(
            read: properties.contains(.read) ? read : .forbidden,
            writeRequest: properties.contains(.write) ? write : .forbidden,
            writeCommand: properties.contains(.writeWithoutResponse) ? write : .forbidden,
            // On an unencrypted link the signature is what authenticates the writer.
            signedWrite: properties.contains(.authenticatedSignedWrites) && write != .forbidden,
            subscribe: Self.subscription(properties))
    }

    /// One CCC descriptor serves both, so the stricter counts.
    private static func subscription(_ properties: CBCharacteristicProperties) -> AttributeRequirement {
        if !properties.isDisjoint(with: [.notifyEncryptionRequired, .indicateEncryptionRequired]) { return .encrypted }
        return properties.isDisjoint(with: [.notify, .indicate]) ? .forbidden : .open
    }
}

extension AttributeRequirement {
    fileprivate init(
        _ permissions: CBAttributePermissions, open: CBAttributePermissions, encrypted: CBAttributePermissions
    ) {
        self = permissions.contains(encrypted) ? .encrypted : permissions.contains(open) ? .open : .forbidden
    }

    var isEncrypted: Bool {
        switch self {
        case .forbidden, .open: false
        case .encrypted, .encryptedAuthenticated, .encryptedSecureConnections: true
        }
    }
}

extension CBAttributePermissions {
    /// The nearest that Apple's bits can say; the whole truth of a restored characteristic is in its `access`.
    init(_ access: AttributeAccess) {
        self = []
        switch access.read {
        case .forbidden: break
        case .open: insert(.readable)
        case .encrypted, .encryptedAuthenticated, .encryptedSecureConnections: insert(.readEncryptionRequired)
        }
        let writes = [access.writeRequest, access.writeCommand].filter { $0 != .forbidden }
        if writes.contains(where: \.isEncrypted) {
            insert(.writeEncryptionRequired)
        } else if !writes.isEmpty || access.signedWrite {
            insert(.writeable)
        }
    }
}
