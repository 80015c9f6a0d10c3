/// What a bond is worth, as far as one may replace another: no bond gives way to one that is weaker in anything.
///
/// Core 5.4, Vol 3, Part C, 10.2.1 (LE security mode 1); Vol 3, Part H, 2.3.4 (Encryption key size)
package struct BondStrength: Equatable, Sendable {
    package var isAuthenticated: Bool
    package var isSecureConnections: Bool
    /// Octets of entropy.
    package var keyOctets: UInt8

    package init(isAuthenticated: Bool, isSecureConnections: Bool, keyOctets: UInt8) {
        self.isAuthenticated = isAuthenticated
        self.isSecureConnections = isSecureConnections
        self.keyOctets = keyOctets
    }

    /// The strongest there is.
    package static let full = Self(isAuthenticated: true, isSecureConnections: true, keyOctets: 16)

    /// LE security mode 1: 2 unauthenticated, 3 authenticated, 4 authenticated Secure Connections with a full key.
    package var level: UInt8 {
        guard isAuthenticated else { return 2 }
        return isSecureConnections && keyOctets == 16 ? 4 : 3
    }

    package func isAtLeast(_ other: Self) -> Bool {
        (isAuthenticated || !other.isAuthenticated) && (isSecureConnections || !other.isSecureConnections)
            && keyOctets >= other.keyOctets
    }
}
