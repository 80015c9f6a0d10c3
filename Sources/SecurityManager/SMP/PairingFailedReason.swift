/// Why a pairing was given up, as one side tells the other.
///
/// Core 5.4, Vol 3, Part H, 3.5.5 (Pairing Failed)
package struct PairingFailedReason: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let passkeyEntryFailed = Self(rawValue: 0x01)
    package static let oobNotAvailable = Self(rawValue: 0x02)
    package static let authenticationRequirements = Self(rawValue: 0x03)
    package static let confirmValueFailed = Self(rawValue: 0x04)
    package static let pairingNotSupported = Self(rawValue: 0x05)
    package static let encryptionKeySize = Self(rawValue: 0x06)
    package static let commandNotSupported = Self(rawValue: 0x07)
    package static let unspecifiedReason = Self(rawValue: 0x08)
    package static let repeatedAttempts = Self(rawValue: 0x09)
    package static let invalidParameters = Self(rawValue: 0x0A)
    package static let dhKeyCheckFailed = Self(rawValue: 0x0B)
    package static let numericComparisonFailed = Self(rawValue: 0x0C)
    package static let brEDRPairingInProgress = Self(rawValue: 0x0D)
    package static let crossTransportKeyDerivationNotAllowed = Self(rawValue: 0x0E)
    package static let keyRejected = Self(rawValue: 0x0F)
    package static let busy = Self(rawValue: 0x10)
}
