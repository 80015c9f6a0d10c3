/// Names the service that a credit-based channel leads to.
///
/// Core 5.4, Vol 3, Part A, 4.22 (Table 4.19)
package struct SPSM: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Those that mean anything; the rest is reserved.
    package static let range: ClosedRange<UInt16> = 0x0001...0x00FF
    /// Those that a host gives out by itself. The ones below are the Bluetooth SIG's to assign.
    package static let dynamicRange: ClosedRange<UInt16> = 0x0080...0x00FF

    package var isValid: Bool { Self.range.contains(rawValue) }
}

/// What a service demands of the link before it takes a channel.
///
/// Core 5.4, Vol 3, Part C, 10.3 (LE security mode 1)
package struct ChannelRequirement: Hashable, Sendable {
    package var encrypted: Bool
    package var authenticated: Bool
    /// Octets of the LTK; counts on an encrypted link.
    package var minimumKeySize: UInt8
    /// The host's own word for "this one may".
    package var authorized: Bool

    package init(
        encrypted: Bool = false, authenticated: Bool = false, minimumKeySize: UInt8 = 0, authorized: Bool = false
    ) {
        self.encrypted = encrypted
        self.authenticated = authenticated
        self.minimumKeySize = minimumKeySize
        self.authorized = authorized
    }

    package static let open = Self()

    /// Why a request on a link like this is refused; nil when it is not.
    ///
    /// Core 5.4, Vol 3, Part A, 4.23 (Table 4.20); Vol 3, Part C, 10.3.1 (Responding to a service request): without a key
    /// to encrypt with, what is missing is authentication.
    package func refusal(on security: ChannelSecurity) -> LECreditBasedConnectionResult? {
        if encrypted || authenticated || minimumKeySize > 0, !security.encrypted {
            return security.hasKey ? .insufficientEncryption : .insufficientAuthentication
        }
        if authenticated, !security.authenticated { return .insufficientAuthentication }
        if security.keySize < minimumKeySize { return .insufficientEncryptionKeySize }
        if authorized, !security.authorized { return .insufficientAuthorization }
        return nil
    }
}

/// What a link is when a channel is asked for.
package struct ChannelSecurity: Hashable, Sendable {
    package var encrypted: Bool
    package var authenticated: Bool
    /// Octets of the key in use; 0 on an open link.
    package var keySize: UInt8
    /// Whether both sides have an LTK, in use or not.
    package var hasKey: Bool
    package var authorized: Bool

    package init(
        encrypted: Bool = false, authenticated: Bool = false, keySize: UInt8 = 0, hasKey: Bool = false,
        authorized: Bool = false
    ) {
        self.encrypted = encrypted
        self.authenticated = authenticated
        self.keySize = keySize
        self.hasKey = hasKey
        self.authorized = authorized
    }

    package static let open = Self()
}
