/// What a controller says became of a command, a procedure or a link.
///
/// Core 5.4, Vol 1, Part F, 1.3 (List of Error Codes)
package struct HCIErrorCode: RawRepresentable, Hashable, Sendable, Error {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let success = Self(rawValue: 0x00)
    package static let unknownHCICommand = Self(rawValue: 0x01)
    package static let unknownConnectionIdentifier = Self(rawValue: 0x02)
    package static let hardwareFailure = Self(rawValue: 0x03)
    package static let authenticationFailure = Self(rawValue: 0x05)
    package static let pinOrKeyMissing = Self(rawValue: 0x06)
    package static let memoryCapacityExceeded = Self(rawValue: 0x07)
    package static let connectionTimeout = Self(rawValue: 0x08)
    package static let connectionLimitExceeded = Self(rawValue: 0x09)
    package static let connectionAlreadyExists = Self(rawValue: 0x0B)
    package static let commandDisallowed = Self(rawValue: 0x0C)
    package static let connectionRejectedLimitedResources = Self(rawValue: 0x0D)
    package static let connectionRejectedSecurityReasons = Self(rawValue: 0x0E)
    package static let unsupportedFeatureOrParameterValue = Self(rawValue: 0x11)
    package static let invalidHCICommandParameters = Self(rawValue: 0x12)
    package static let remoteUserTerminatedConnection = Self(rawValue: 0x13)
    package static let remoteDeviceTerminatedLowResources = Self(rawValue: 0x14)
    package static let remoteDeviceTerminatedPowerOff = Self(rawValue: 0x15)
    package static let connectionTerminatedByLocalHost = Self(rawValue: 0x16)
    package static let repeatedAttempts = Self(rawValue: 0x17)
    package static let pairingNotAllowed = Self(rawValue: 0x18)
    package static let unsupportedRemoteFeature = Self(rawValue: 0x1A)
    package static let invalidLMPOrLLParameters = Self(rawValue: 0x1E)
    package static let unspecifiedError = Self(rawValue: 0x1F)
    package static let unsupportedLMPOrLLParameterValue = Self(rawValue: 0x20)
    package static let lmpOrLLResponseTimeout = Self(rawValue: 0x22)
    package static let lmpOrLLProcedureCollision = Self(rawValue: 0x23)
    package static let instantPassed = Self(rawValue: 0x28)
    package static let pairingWithUnitKeyNotSupported = Self(rawValue: 0x29)
    package static let differentTransactionCollision = Self(rawValue: 0x2A)
    package static let insufficientSecurity = Self(rawValue: 0x2F)
    package static let controllerBusy = Self(rawValue: 0x3A)
    package static let unacceptableConnectionParameters = Self(rawValue: 0x3B)
    package static let advertisingTimeout = Self(rawValue: 0x3C)
    package static let connectionTerminatedMICFailure = Self(rawValue: 0x3D)
    package static let connectionFailedToBeEstablished = Self(rawValue: 0x3E)
    package static let unknownAdvertisingIdentifier = Self(rawValue: 0x42)
    package static let limitReached = Self(rawValue: 0x43)
    package static let operationCancelledByHost = Self(rawValue: 0x44)
    package static let packetTooLong = Self(rawValue: 0x45)
}

extension HCIErrorCode: CustomStringConvertible {
    package var description: String {
        let name: String? =
            switch self {
            case .success: "success"
            case .unknownHCICommand: "unknown HCI command"
            case .unknownConnectionIdentifier: "unknown connection identifier"
            case .hardwareFailure: "hardware failure"
            case .authenticationFailure: "authentication failure"
            case .pinOrKeyMissing: "PIN or key missing"
            case .memoryCapacityExceeded: "memory capacity exceeded"
            case .connectionTimeout: "connection timeout"
            case .connectionLimitExceeded: "connection limit exceeded"
            case .connectionAlreadyExists: "connection already exists"
            case .commandDisallowed: "command disallowed"
            case .connectionRejectedLimitedResources: "connection rejected: limited resources"
            case .connectionRejectedSecurityReasons: "connection rejected: security reasons"
            case .unsupportedFeatureOrParameterValue: "unsupported feature or parameter value"
            case .invalidHCICommandParameters: "invalid HCI command parameters"
            case .remoteUserTerminatedConnection: "the peer ended the connection"
            case .remoteDeviceTerminatedLowResources: "the peer ended the connection: low resources"
            case .remoteDeviceTerminatedPowerOff: "the peer ended the connection: power off"
            case .connectionTerminatedByLocalHost: "this side ended the connection"
            case .repeatedAttempts: "repeated attempts"
            case .pairingNotAllowed: "pairing not allowed"
            case .unsupportedRemoteFeature: "the peer does not support the feature"
            case .invalidLMPOrLLParameters: "invalid link layer parameters"
            case .unspecifiedError: "unspecified error"
            case .unsupportedLMPOrLLParameterValue: "unsupported link layer parameter value"
            case .lmpOrLLResponseTimeout: "link layer response timeout"
            case .lmpOrLLProcedureCollision: "link layer procedure collision"
            case .instantPassed: "instant passed"
            case .pairingWithUnitKeyNotSupported: "pairing with unit key not supported"
            case .differentTransactionCollision: "different transaction collision"
            case .insufficientSecurity: "insufficient security"
            case .controllerBusy: "controller busy"
            case .unacceptableConnectionParameters: "unacceptable connection parameters"
            case .advertisingTimeout: "advertising timeout"
            case .connectionTerminatedMICFailure: "connection terminated: MIC failure"
            case .connectionFailedToBeEstablished: "connection failed to be established"
            case .unknownAdvertisingIdentifier: "unknown advertising identifier"
            case .limitReached: "limit reached"
            case .operationCancelledByHost: "operation cancelled by host"
            case .packetTooLong: "packet too long"
            default: nil
            }
        let code = "0x" + (rawValue < 16 ? "0" : "") + String(rawValue, radix: 16, uppercase: true)
        return name.map { "\($0) (\(code))" } ?? "error \(code)"
    }
}
