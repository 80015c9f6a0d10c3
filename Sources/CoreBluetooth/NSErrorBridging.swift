import CoreBluetoothEssentials
import Foundation

// `error as NSError` has Apple's domain and code through `CoreBluetoothEssentials` alone; its user info needs Foundation.

extension CBError: CustomNSError {
    /// The description, under Foundation's key.
    public var errorUserInfo: [String: Any] { errorDescription.map { [NSLocalizedDescriptionKey: $0] } ?? [:] }
}

extension CBATTError: CustomNSError {
    /// The description, under Foundation's key.
    public var errorUserInfo: [String: Any] { errorDescription.map { [NSLocalizedDescriptionKey: $0] } ?? [:] }
}
