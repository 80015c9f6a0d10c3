/// A credential's name inside the lock, and over the air. Never used twice.
package struct CredentialID: Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What a manager makes of a credential, at the terminal or over the air.
package enum CredentialChange: Hashable, Sendable {
    case disabled
    case enabled
    case removed
    /// In the place of all rules that it had.
    case scheduled(Validity, CredentialSchedules)
}
