/// Why a server refuses a request.
///
/// Core 5.4, Vol 3, Part F, 3.4.1.1 (Error Response)
package struct ATTErrorCode: RawRepresentable, Error, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let invalidHandle = Self(rawValue: 0x01)
    package static let readNotPermitted = Self(rawValue: 0x02)
    package static let writeNotPermitted = Self(rawValue: 0x03)
    package static let invalidPDU = Self(rawValue: 0x04)
    package static let insufficientAuthentication = Self(rawValue: 0x05)
    package static let requestNotSupported = Self(rawValue: 0x06)
    package static let invalidOffset = Self(rawValue: 0x07)
    package static let insufficientAuthorization = Self(rawValue: 0x08)
    package static let prepareQueueFull = Self(rawValue: 0x09)
    package static let attributeNotFound = Self(rawValue: 0x0A)
    package static let attributeNotLong = Self(rawValue: 0x0B)
    package static let encryptionKeySizeTooShort = Self(rawValue: 0x0C)
    package static let invalidAttributeValueLength = Self(rawValue: 0x0D)
    package static let unlikelyError = Self(rawValue: 0x0E)
    package static let insufficientEncryption = Self(rawValue: 0x0F)
    package static let unsupportedGroupType = Self(rawValue: 0x10)
    package static let insufficientResources = Self(rawValue: 0x11)
    package static let databaseOutOfSync = Self(rawValue: 0x12)
    package static let valueNotAllowed = Self(rawValue: 0x13)

    /// Core Specification Supplement, Part B, 1 (Common profile and service error codes)
    package static let writeRequestRejected = Self(rawValue: 0xFC)
    package static let cccdImproperlyConfigured = Self(rawValue: 0xFD)
    package static let procedureAlreadyInProgress = Self(rawValue: 0xFE)
    package static let outOfRange = Self(rawValue: 0xFF)

    /// Defined by the profile or app, not by the Core Specification.
    package var isApplicationError: Bool { 0x80...0x9F ~= rawValue }
}

extension ATTErrorCode: CustomStringConvertible {
    package var description: String {
        switch self {
        case .invalidHandle: "Invalid Handle"
        case .readNotPermitted: "Read Not Permitted"
        case .writeNotPermitted: "Write Not Permitted"
        case .invalidPDU: "Invalid PDU"
        case .insufficientAuthentication: "Insufficient Authentication"
        case .requestNotSupported: "Request Not Supported"
        case .invalidOffset: "Invalid Offset"
        case .insufficientAuthorization: "Insufficient Authorization"
        case .prepareQueueFull: "Prepare Queue Full"
        case .attributeNotFound: "Attribute Not Found"
        case .attributeNotLong: "Attribute Not Long"
        case .encryptionKeySizeTooShort: "Encryption Key Size Too Short"
        case .invalidAttributeValueLength: "Invalid Attribute Value Length"
        case .unlikelyError: "Unlikely Error"
        case .insufficientEncryption: "Insufficient Encryption"
        case .unsupportedGroupType: "Unsupported Group Type"
        case .insufficientResources: "Insufficient Resources"
        case .databaseOutOfSync: "Database Out Of Sync"
        case .valueNotAllowed: "Value Not Allowed"
        case .writeRequestRejected: "Write Request Rejected"
        case .cccdImproperlyConfigured: "Client Characteristic Configuration Descriptor Improperly Configured"
        case .procedureAlreadyInProgress: "Procedure Already In Progress"
        case .outOfRange: "Out Of Range"
        default:
            (isApplicationError ? "Application Error 0x" : "Error 0x") + String(rawValue, radix: 16, uppercase: true)
        }
    }
}
