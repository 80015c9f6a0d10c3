import CoreBluetoothEssentials
import Foundation

// An error of Apple's domains is an `NSError` wherever one is wanted, and an `NSError` of these domains is the error: `as NSError`,
// `as? CBError` and `catch` work in both directions.

/// What both errors have in common.
protocol AppleError: CustomNSError, LocalizedError, _ObjectiveCBridgeable where _ObjectiveCType == NSError {
    var details: ErrorDetails { get }
    /// nil for a number that is no code of this domain.
    init?(number: Int, _ details: ErrorDetails)
}

extension AppleError {
    /// What it was made with, and the description under Foundation's key where that has none.
    public var errorUserInfo: [String: Any] {
        var userInfo = details.values
        if userInfo[NSLocalizedDescriptionKey] == nil { userInfo[NSLocalizedDescriptionKey] = errorDescription }
        return userInfo
    }

    /// `as NSError`, out of an `Any`.
    public func _bridgeToObjectiveC() -> NSError {
        NSError(domain: Self.errorDomain, code: errorCode, userInfo: errorUserInfo)
    }

    /// `as? Self`, and `catch`.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout Self?) -> Bool {
        guard source.domain == errorDomain else { return false }
        result = Self(number: source.code, ErrorDetails(source.userInfo))
        return result != nil
    }

    /// A cast that must not fail.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout Self?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }
}

extension CBError: AppleError {
    /// What it carries, with a description under Foundation's key.
    public var userInfo: [String: Any] { errorUserInfo }

    /// The error with this code, and what an app wants it to carry.
    public init(_ code: Code, userInfo: [String: Any]) { self.init(code, ErrorDetails(userInfo)) }

    /// The error that `error` is: one of this domain, with a code of it. Anything else makes ``Code/unknown``.
    public init(_nsError error: NSError) { self = Self._unconditionallyBridgeFromObjectiveC(error) }

    init?(number: Int, _ details: ErrorDetails) {
        guard let code = Code(rawValue: number) else { return nil }
        self.init(code, details)
    }

    /// `as Self`, which the compiler offers for no error: what it is asked for cannot be missing.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> Self {
        source.flatMap { $0 as? Self } ?? Self(.unknown)
    }
}

extension CBATTError: AppleError {
    /// What it carries, with a description under Foundation's key.
    public var userInfo: [String: Any] { errorUserInfo }

    /// The error with this code, and what an app wants it to carry.
    public init(_ code: Code, userInfo: [String: Any]) { self.init(code, ErrorDetails(userInfo)) }

    /// The error that `error` is: one of this domain, with a code of it. Anything else makes ``Code/unlikelyError``.
    public init(_nsError error: NSError) { self = Self._unconditionallyBridgeFromObjectiveC(error) }

    init?(number: Int, _ details: ErrorDetails) { self.init(Code(number: number), details) }

    /// `as Self`, which the compiler offers for no error: what it is asked for cannot be missing.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> Self {
        source.flatMap { $0 as? Self } ?? Self(.unlikelyError)
    }
}
