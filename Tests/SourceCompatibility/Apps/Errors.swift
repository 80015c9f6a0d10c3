import CoreBluetooth
import Foundation

// The ways in which apps look at errors.

enum Advice: String {
    case retry, pair, forget, giveUp, wait, nothing
}

/// By casting, one domain after the other.
func advice(for error: Error?) -> Advice {
    guard let error = error else { return .nothing }
    if let error = error as? CBError {
        switch error.code {
        case .connectionTimeout, .peripheralDisconnected, .connectionFailed:
            return .retry
        case .peerRemovedPairingInformation, .tooManyLEPairedDevices:
            return .forget
        case .encryptionTimedOut:
            return .pair
        case .connectionLimitReached, .outOfSpace, .alreadyAdvertising:
            return .wait
        case .operationCancelled:
            return .nothing
        case .unknown, .invalidParameters, .invalidHandle, .notConnected, .uuidNotAllowed, .unknownDevice,
            .operationNotSupported, .leGattExceededBackgroundNotificationLimit,
            .leGattNearBackgroundNotificationLimit:
            return .giveUp
        @unknown default:
            return .giveUp
        }
    }
    if let attError = error as? CBATTError {
        switch attError.code {
        case .insufficientAuthentication, .insufficientEncryption, .insufficientAuthorization: return .pair
        case .insufficientResources, .prepareQueueFull: return .wait
        case .success: return .nothing
        default: return .giveUp
        }
    }
    return .giveUp
}

/// By patterns in a `switch`.
func adviceByPattern(for error: Error) -> Advice {
    switch error {
    case CBError.connectionTimeout, CBError.peripheralDisconnected, CBError.connectionFailed: return .retry
    case CBError.peerRemovedPairingInformation: return .forget
    case CBATTError.insufficientEncryption, CBATTError.insufficientAuthentication: return .pair
    case let error as CBError where error.code == .operationCancelled: return .nothing
    case let error as CBATTError where error.errorCode == CBATTError.Code.insufficientResources.rawValue: return .wait
    default: return .giveUp
    }
}

/// By the codes alone, as apps do that came from Objective-C.
func adviceByNumber(for error: NSError) -> Advice {
    switch (error.domain, error.code) {
    case (CBErrorDomain, CBError.Code.connectionTimeout.rawValue),
        (CBErrorDomain, CBError.peripheralDisconnected.rawValue),
        (CBError.errorDomain, CBError.Code.connectionFailed.rawValue):
        return .retry
    case (CBErrorDomain, CBError.Code.peerRemovedPairingInformation.rawValue): return .forget
    case (CBATTErrorDomain, CBATTError.Code.insufficientEncryption.rawValue),
        (CBATTErrorDomain, CBATTError.insufficientAuthentication.rawValue):
        return .pair
    default: return .giveUp
    }
}

/// By `catch`.
func adviceByCatching(_ body: () throws -> Void) -> Advice {
    do {
        try body()
        return .nothing
    } catch CBError.connectionTimeout {
        return .retry
    } catch CBATTError.insufficientEncryption, CBATTError.insufficientAuthentication {
        return .pair
    } catch let error as CBError where error.code == .peerRemovedPairingInformation {
        return .forget
    } catch let error as CBError {
        return error.errorCode == CBError.outOfSpace.rawValue ? .wait : .giveUp
    } catch let error as NSError where error.domain == CBATTErrorDomain {
        return .wait
    } catch {
        return .giveUp
    }
}

/// What users read.
struct Alert: Equatable {
    var title: String
    var message: String
    var code: Int?

    init(_ error: Error) {
        let bridged = error as NSError
        switch bridged.domain {
        case CBErrorDomain: title = "Connection"
        case CBATTErrorDomain: title = "Device"
        default: title = "Error"
        }
        message = error.localizedDescription
        code = bridged.domain == NSCocoaErrorDomain ? nil : bridged.code
    }
}

/// An app's own error, around Apple's.
enum LinkError: Error, LocalizedError {
    case bluetooth(CBError.Code)
    case attribute(CBATTError.Code)
    case other(Error)
    case closed

    init(_ error: Error?) {
        switch error {
        case nil: self = .closed
        case let error as CBError: self = .bluetooth(error.code)
        case let error as CBATTError: self = .attribute(error.code)
        case .some(let error): self = .other(error)
        }
    }

    var number: Int {
        switch self {
        case .bluetooth(let code): return 1000 + code.rawValue
        case .attribute(let code): return 2000 + code.rawValue
        case .other: return 1
        case .closed: return 0
        }
    }

    var errorDescription: String? {
        switch self {
        case .bluetooth(let code): return CBError(code).localizedDescription
        case .attribute(let code): return CBATTError(code).localizedDescription
        case .other(let error): return error.localizedDescription
        case .closed: return "The link is closed."
        }
    }
}

/// A profile's own code.
extension CBATTError.Code {
    static let procedureInProgress = CBATTError.Code(rawValue: 0x80) ?? .unlikelyError
}
