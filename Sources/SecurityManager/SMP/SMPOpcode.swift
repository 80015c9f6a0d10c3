/// The code of a Security Manager command.
///
/// Core 5.4, Vol 3, Part H, 3.3 (Command format)
package struct SMPOpcode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let pairingRequest = Self(rawValue: 0x01)
    package static let pairingResponse = Self(rawValue: 0x02)
    package static let pairingConfirm = Self(rawValue: 0x03)
    package static let pairingRandom = Self(rawValue: 0x04)
    package static let pairingFailed = Self(rawValue: 0x05)
    package static let encryptionInformation = Self(rawValue: 0x06)
    package static let centralIdentification = Self(rawValue: 0x07)
    package static let identityInformation = Self(rawValue: 0x08)
    package static let identityAddressInformation = Self(rawValue: 0x09)
    package static let signingInformation = Self(rawValue: 0x0A)
    package static let securityRequest = Self(rawValue: 0x0B)
    package static let pairingPublicKey = Self(rawValue: 0x0C)
    package static let pairingDHKeyCheck = Self(rawValue: 0x0D)
    package static let pairingKeypressNotification = Self(rawValue: 0x0E)

    /// Reserved codes are to be ignored, wherever they come.
    ///
    /// Core 5.4, Vol 3, Part H, 3.3 (Command format)
    package var isReserved: Bool { rawValue == 0 || rawValue > Self.pairingKeypressNotification.rawValue }
}

/// Core 5.4, Vol 3, Part H, 3.5.8 (Keypress Notification)
package struct KeypressNotificationType: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let passkeyEntryStarted = Self(rawValue: 0)
    package static let passkeyDigitEntered = Self(rawValue: 1)
    package static let passkeyDigitErased = Self(rawValue: 2)
    package static let passkeyCleared = Self(rawValue: 3)
    package static let passkeyEntryCompleted = Self(rawValue: 4)
}
