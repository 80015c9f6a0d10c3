import ATT
import FoundationEssentials

/// The domain of ``CBATTError``.
public let CBATTErrorDomain = "CBATTErrorDomain"

/// What a server answered instead of doing what it was asked.
public struct CBATTError: LocalizedError, Hashable, Sendable {
    /// The codes of the Attribute Protocol. Open, since profiles and apps define their own: 0x80–0x9F and 0xE0–0xFF.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The octet of the Error Response; 0 for success.
        public let rawValue: Int

        /// The code with this number: there is one for each, as with Apple.
        public init?(rawValue: Int) { self.init(number: rawValue) }

        package init(number: Int) { rawValue = number }

        /// The request was carried out.
        public static let success = Self(number: 0x00)
        /// The attribute does not exist.
        public static let invalidHandle = Self(number: 0x01)
        /// The attribute cannot be read.
        public static let readNotPermitted = Self(number: 0x02)
        /// The attribute cannot be written.
        public static let writeNotPermitted = Self(number: 0x03)
        /// The request was malformed.
        public static let invalidPdu = Self(number: 0x04)
        /// The link must be authenticated first.
        public static let insufficientAuthentication = Self(number: 0x05)
        /// The server does not support the request.
        public static let requestNotSupported = Self(number: 0x06)
        /// The offset is past the value's end.
        public static let invalidOffset = Self(number: 0x07)
        /// The peer must be authorised first.
        public static let insufficientAuthorization = Self(number: 0x08)
        /// Too many prepared writes wait.
        public static let prepareQueueFull = Self(number: 0x09)
        /// No attribute of that type is in that range.
        public static let attributeNotFound = Self(number: 0x0A)
        /// The attribute cannot be read in parts.
        public static let attributeNotLong = Self(number: 0x0B)
        /// The key in use is too short.
        public static let insufficientEncryptionKeySize = Self(number: 0x0C)
        /// The value's length is wrong for the attribute.
        public static let invalidAttributeValueLength = Self(number: 0x0D)
        /// Something unlikely went wrong.
        public static let unlikelyError = Self(number: 0x0E)
        /// The link must be encrypted first.
        public static let insufficientEncryption = Self(number: 0x0F)
        /// The type is not a grouping attribute.
        public static let unsupportedGroupType = Self(number: 0x10)
        /// The server has no room for the request.
        public static let insufficientResources = Self(number: 0x11)
    }

    /// What the server said.
    public let code: Code
    package let details: ErrorDetails

    /// The error with this code.
    public init(_ code: Code) { self.init(code, ErrorDetails()) }

    package init(_ code: Code, _ details: ErrorDetails) { (self.code, self.details) = (code, details) }

    /// ``CBATTErrorDomain``.
    public static var errorDomain: String { CBATTErrorDomain }
    /// The code's number.
    public var errorCode: Int { code.rawValue }

    /// The domain, for `as NSError` where Foundation is linked.
    public var _domain: String { CBATTErrorDomain }
    /// The code's number, for `as NSError` where Foundation is linked.
    public var _code: Int { code.rawValue }

    /// A sentence for people.
    public var errorDescription: String? {
        code == .success ? "Success." : ATTErrorCode(rawValue: UInt8(clamping: code.rawValue)).description + "."
    }
}

extension CBATTError.Code {
    /// Matches an error with this code in a `catch`. It gives way to every other match: a `switch` over some other error
    /// that has a name like a code's must not end up here.
    @_disfavoredOverload
    public static func ~= (code: Self, error: any Error) -> Bool { (error as? CBATTError)?.code == code }
}

extension CBATTError {
    package init(answered code: ATTErrorCode) { self.init(Code(number: Int(code.rawValue))) }
}

extension ATTErrorCode {
    /// nil for success. What does not fit an octet is an Unlikely Error.
    package init?(_ code: CBATTError.Code) {
        guard code != .success else { return nil }
        self = UInt8(exactly: code.rawValue).map { Self(rawValue: $0) } ?? .unlikelyError
    }
}

/// Apple's spelling: `catch CBATTError.invalidOffset`, `error.code == .invalidOffset`.
extension CBATTError {
    /// See ``Code/success``.
    public static var success: Code { .success }
    /// See ``Code/invalidHandle``.
    public static var invalidHandle: Code { .invalidHandle }
    /// See ``Code/readNotPermitted``.
    public static var readNotPermitted: Code { .readNotPermitted }
    /// See ``Code/writeNotPermitted``.
    public static var writeNotPermitted: Code { .writeNotPermitted }
    /// See ``Code/invalidPdu``.
    public static var invalidPdu: Code { .invalidPdu }
    /// See ``Code/insufficientAuthentication``.
    public static var insufficientAuthentication: Code { .insufficientAuthentication }
    /// See ``Code/requestNotSupported``.
    public static var requestNotSupported: Code { .requestNotSupported }
    /// See ``Code/invalidOffset``.
    public static var invalidOffset: Code { .invalidOffset }
    /// See ``Code/insufficientAuthorization``.
    public static var insufficientAuthorization: Code { .insufficientAuthorization }
    /// See ``Code/prepareQueueFull``.
    public static var prepareQueueFull: Code { .prepareQueueFull }
    /// See ``Code/attributeNotFound``.
    public static var attributeNotFound: Code { .attributeNotFound }
    /// See ``Code/attributeNotLong``.
    public static var attributeNotLong: Code { .attributeNotLong }
    /// See ``Code/insufficientEncryptionKeySize``.
    public static var insufficientEncryptionKeySize: Code { .insufficientEncryptionKeySize }
    /// See ``Code/invalidAttributeValueLength``.
    public static var invalidAttributeValueLength: Code { .invalidAttributeValueLength }
    /// See ``Code/unlikelyError``.
    public static var unlikelyError: Code { .unlikelyError }
    /// See ``Code/insufficientEncryption``.
    public static var insufficientEncryption: Code { .insufficientEncryption }
    /// See ``Code/unsupportedGroupType``.
    public static var unsupportedGroupType: Code { .unsupportedGroupType }
    /// See ``Code/insufficientResources``.
    public static var insufficientResources: Code { .insufficientResources }
}
