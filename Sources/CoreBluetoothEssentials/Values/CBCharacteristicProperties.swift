/// What a characteristic's value can be used for.
public struct CBCharacteristicProperties: OptionSet, Hashable, Sendable {
    /// The bits: the low octet is the one of the characteristic's declaration.
    public let rawValue: UInt

    /// The properties with these bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Can be broadcast. Not for local characteristics.
    public static let broadcast = Self(rawValue: 0x01)
    /// Can be read.
    public static let read = Self(rawValue: 0x02)
    /// Can be written without an answer.
    public static let writeWithoutResponse = Self(rawValue: 0x04)
    /// Can be written with an answer.
    public static let write = Self(rawValue: 0x08)
    /// Notifies subscribers.
    public static let notify = Self(rawValue: 0x10)
    /// Notifies subscribers, who confirm.
    public static let indicate = Self(rawValue: 0x20)
    /// Can be written by Signed Write Commands on an unencrypted link.
    public static let authenticatedSignedWrites = Self(rawValue: 0x40)
    /// Has an Extended Properties descriptor. Not for local characteristics.
    public static let extendedProperties = Self(rawValue: 0x80)
    /// Only encrypted links may subscribe to notifications. Local characteristics only.
    public static let notifyEncryptionRequired = Self(rawValue: 0x100)
    /// Only encrypted links may subscribe to indications. Local characteristics only.
    public static let indicateEncryptionRequired = Self(rawValue: 0x200)
}

/// What peers may do with a local characteristic's value.
public struct CBAttributePermissions: OptionSet, Hashable, Sendable {
    /// Apple's bits.
    public let rawValue: UInt

    /// The permissions with these bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// May be read.
    public static let readable = Self(rawValue: 0x01)
    /// May be written.
    public static let writeable = Self(rawValue: 0x02)
    /// May be read on an encrypted link.
    public static let readEncryptionRequired = Self(rawValue: 0x04)
    /// May be written on an encrypted link.
    public static let writeEncryptionRequired = Self(rawValue: 0x08)
}
