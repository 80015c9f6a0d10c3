import ATT
import FoundationEssentials

/// The domain of ``CBATTError``.
public let CBATTErrorDomain = "CBATTErrorDomain"

/// What a server answered instead of doing what it was asked.
public struct CBATTError: LocalizedError, Hashable, Sendable {
    /// The codes of the Attribute Protocol. Each number is a code, as with Apple: profiles and apps define their own, 0x80–0x9F and
    /// 0xE0–0xFF.
    public enum Code: RawRepresentable, Hashable, Sendable {
        /// The request was carried out.
        case success
        /// The attribute does not exist.
        case invalidHandle
        /// The attribute cannot be read.
        case readNotPermitted
        /// The attribute cannot be written.
        case writeNotPermitted
        /// The request was malformed.
        case invalidPdu
        /// The link must be authenticated first.
        case insufficientAuthentication
        /// The server does not support the request.
        case requestNotSupported
        /// The offset is past the value's end.
        case invalidOffset
        /// The peer must be authorised first.
        case insufficientAuthorization
        /// Too many prepared writes wait.
        case prepareQueueFull
        /// No attribute of that type is in that range.
        case attributeNotFound
        /// The attribute cannot be read in parts.
        case attributeNotLong
        /// The key in use is too short.
        case insufficientEncryptionKeySize
        /// The value's length is wrong for the attribute.
        case invalidAttributeValueLength
        /// Something unlikely went wrong.
        case unlikelyError
        /// The link must be encrypted first.
        case insufficientEncryption
        /// The type is not a grouping attribute.
        case unsupportedGroupType
        /// The server has no room for the request.
        case insufficientResources
        /// A code that Apple has no name for. Equal to every code of its number.
        case other(Int)

        /// The code with this number: there is one for each, as with Apple.
        public init?(rawValue: Int) { self.init(number: rawValue) }

        package init(number: Int) {
            self =
                switch number {
                case 0x00: .success
                case 0x01: .invalidHandle
                case 0x02: .readNotPermitted
                case 0x03: .writeNotPermitted
                case 0x04: .invalidPdu
                case 0x05: .insufficientAuthentication
                case 0x06: .requestNotSupported
                case 0x07: .invalidOffset
                case 0x08: .insufficientAuthorization
                case 0x09: .prepareQueueFull
                case 0x0A: .attributeNotFound
                case 0x0B: .attributeNotLong
                case 0x0C: .insufficientEncryptionKeySize
                case 0x0D: .invalidAttributeValueLength
                case 0x0E: .unlikelyError
                case 0x0F: .insufficientEncryption
                case 0x10: .unsupportedGroupType
                case 0x11: .insufficientResources
                default: .other(number)
                }
        }

        /// The octet of the Error Response; 0 for success.
        public var rawValue: Int {
            switch self {
            case .success: 0x00
            case .invalidHandle: 0x01
            case .readNotPermitted: 0x02
            case .writeNotPermitted: 0x03
            case .invalidPdu: 0x04
            case .insufficientAuthentication: 0x05
            case .requestNotSupported: 0x06
            case .invalidOffset: 0x07
            case .insufficientAuthorization: 0x08
            case .prepareQueueFull: 0x09
            case .attributeNotFound: 0x0A
            case .attributeNotLong: 0x0B
            case .insufficientEncryptionKeySize: 0x0C
            case .invalidAttributeValueLength: 0x0D
            case .unlikelyError: 0x0E
            case .insufficientEncryption: 0x0F
            case .unsupportedGroupType: 0x10
            case .insufficientResources: 0x11
            case .other(let number): number
            }
        }

        /// Whether both have the same number.
        public static func == (a: Self, b: Self) -> Bool { a.rawValue == b.rawValue }
        /// Hashes what `==` compares.
        public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
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
