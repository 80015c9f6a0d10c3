import FoundationEssentials

/// The domain of ``CBError``.
public let CBErrorDomain = "CBErrorDomain"

/// Why an operation of a manager or a connection failed.
public struct CBError: LocalizedError, Hashable, Sendable {
    /// Apple's codes.
    public enum Code: Int, Sendable, CaseIterable {
        /// Nothing more is known.
        case unknown = 0
        /// The parameters are invalid.
        case invalidParameters = 1
        /// The attribute no longer exists.
        case invalidHandle = 2
        /// The peer is not connected.
        case notConnected = 3
        /// A bounded queue or table is full.
        case outOfSpace = 4
        /// The operation was cancelled.
        case operationCancelled = 5
        /// The connection was lost: nothing was heard from the peer for the supervision timeout.
        case connectionTimeout = 6
        /// The peer ended the connection.
        case peripheralDisconnected = 7
        /// The UUID may not be published.
        case uuidNotAllowed = 8
        /// The manager advertises already.
        case alreadyAdvertising = 9
        /// The connection could not be made.
        case connectionFailed = 10
        /// The controller has no slot left for a connection.
        case connectionLimitReached = 11
        /// The identifier names no peer.
        case unknownDevice = 12
        /// The peer or the host does not support it.
        case operationNotSupported = 13
        /// The peer no longer knows the bond.
        case peerRemovedPairingInformation = 14
        /// Encryption did not come up in time.
        case encryptionTimedOut = 15
        /// No bond can be added.
        case tooManyLEPairedDevices = 16
        /// Not used on Linux.
        case leGattExceededBackgroundNotificationLimit = 17
        /// Not used on Linux.
        case leGattNearBackgroundNotificationLimit = 18
    }

    /// What happened.
    public let code: Code
    package let details: ErrorDetails

    /// The error with this code.
    public init(_ code: Code) { self.init(code, ErrorDetails()) }

    package init(_ code: Code, _ details: ErrorDetails) { (self.code, self.details) = (code, details) }

    /// ``CBErrorDomain``.
    public static var errorDomain: String { CBErrorDomain }
    /// The code's number.
    public var errorCode: Int { code.rawValue }

    /// The domain, for `as NSError` where Foundation is linked.
    public var _domain: String { CBErrorDomain }
    /// The code's number, for `as NSError` where Foundation is linked.
    public var _code: Int { code.rawValue }

    /// A sentence for people.
    public var errorDescription: String? {
        switch code {
        case .unknown: "Unknown error."
        case .invalidParameters: "One or more parameters were invalid."
        case .invalidHandle: "The attribute handle is invalid."
        case .notConnected: "The device is not connected."
        case .outOfSpace: "There is no space left."
        case .operationCancelled: "The operation was cancelled."
        case .connectionTimeout: "The connection has timed out unexpectedly."
        case .peripheralDisconnected: "The device has disconnected from us."
        case .uuidNotAllowed: "The UUID is not allowed for this operation."
        case .alreadyAdvertising: "Advertising has already started."
        case .connectionFailed: "The connection has failed."
        case .connectionLimitReached: "The maximum number of connections is reached."
        case .unknownDevice: "The device is unknown."
        case .operationNotSupported: "The operation is not supported."
        case .peerRemovedPairingInformation: "The peer removed its pairing information."
        case .encryptionTimedOut: "The connection could not be encrypted in time."
        case .tooManyLEPairedDevices: "The maximum number of bonds is reached."
        case .leGattExceededBackgroundNotificationLimit: "The limit for background notifications is exceeded."
        case .leGattNearBackgroundNotificationLimit: "The limit for background notifications is near."
        }
    }
}

extension CBError.Code {
    /// Matches an error with this code in a `catch`. It gives way to every other match: a `switch` over some other error
    /// that has a name like a code's must not end up here.
    @_disfavoredOverload
    public static func ~= (code: Self, error: any Error) -> Bool { (error as? CBError)?.code == code }
}

/// Apple's spelling: `catch CBError.connectionTimeout`, `error.code == .connectionTimeout`.
extension CBError {
    /// See ``Code/unknown``.
    public static var unknown: Code { .unknown }
    /// See ``Code/invalidParameters``.
    public static var invalidParameters: Code { .invalidParameters }
    /// See ``Code/invalidHandle``.
    public static var invalidHandle: Code { .invalidHandle }
    /// See ``Code/notConnected``.
    public static var notConnected: Code { .notConnected }
    /// See ``Code/outOfSpace``.
    public static var outOfSpace: Code { .outOfSpace }
    /// See ``Code/operationCancelled``.
    public static var operationCancelled: Code { .operationCancelled }
    /// See ``Code/connectionTimeout``.
    public static var connectionTimeout: Code { .connectionTimeout }
    /// See ``Code/peripheralDisconnected``.
    public static var peripheralDisconnected: Code { .peripheralDisconnected }
    /// See ``Code/uuidNotAllowed``.
    public static var uuidNotAllowed: Code { .uuidNotAllowed }
    /// See ``Code/alreadyAdvertising``.
    public static var alreadyAdvertising: Code { .alreadyAdvertising }
    /// See ``Code/connectionFailed``.
    public static var connectionFailed: Code { .connectionFailed }
    /// See ``Code/connectionLimitReached``.
    public static var connectionLimitReached: Code { .connectionLimitReached }
    /// See ``Code/unknownDevice``.
    public static var unknownDevice: Code { .unknownDevice }
    /// See ``Code/operationNotSupported``.
    public static var operationNotSupported: Code { .operationNotSupported }
    /// See ``Code/peerRemovedPairingInformation``.
    public static var peerRemovedPairingInformation: Code { .peerRemovedPairingInformation }
    /// See ``Code/encryptionTimedOut``.
    public static var encryptionTimedOut: Code { .encryptionTimedOut }
    /// See ``Code/tooManyLEPairedDevices``.
    public static var tooManyLEPairedDevices: Code { .tooManyLEPairedDevices }
    /// See ``Code/leGattExceededBackgroundNotificationLimit``.
    public static var leGattExceededBackgroundNotificationLimit: Code { .leGattExceededBackgroundNotificationLimit }
    /// See ``Code/leGattNearBackgroundNotificationLimit``.
    public static var leGattNearBackgroundNotificationLimit: Code { .leGattNearBackgroundNotificationLimit }
    /// Apple's misspelt name for ``Code/unknownDevice``.
    @available(*, deprecated, renamed: "unknownDevice")
    public static var unkownDevice: Code { .unknownDevice }
}

extension CBError.Code {
    /// Apple's misspelt name for ``unknownDevice``.
    @available(*, deprecated, renamed: "unknownDevice")
    public static var unkownDevice: Self { .unknownDevice }
}
