import BluetoothHost
import GATT
import HCI

/// What a failure of the host is called in Apple's terms: what the peer answered is a ``CBATTError``, all else a
/// ``CBError``.
package func appleError(_ error: HostError) -> any Error {
    switch error {
    case .gatt(let failure): appleError(failure)
    case .disconnected(let reason): CBError(disconnection: reason)
    case .connectionFailed(let reason): CBError(connectionFailure: reason)
    case .unknownPeer: CBError(.unknownDevice)
    case .invalidAdvertisement: CBError(.invalidParameters)
    case .notConnected: CBError(.notConnected)
    case .noResources: CBError(.outOfSpace)
    case .notPoweredOn, .unknownManager, .publishing, .invalidPSM: CBError(.invalidParameters)
    case .pairing, .blueZ, .notBonded: CBATTError(.insufficientAuthentication)
    case .encryptionFailed(.pinOrKeyMissing): CBError(.peerRemovedPairingInformation)
    case .encryptionFailed: CBError(.encryptionTimedOut)
    case .cannotSign, .unsupportedByController: CBError(.operationNotSupported)
    }
}

extension HostError {
    /// Whether there is no link any more to ask over.
    var isEndOfLink: Bool {
        switch self {
        case .disconnected, .notConnected, .gatt(.bearerClosed): true
        default: false
        }
    }
}

private func appleError(_ error: GATTClientError) -> any Error {
    switch error {
    case .refused(let code, _): CBATTError(answered: code)
    case .malformedAnswer: CBATTError(.invalidPdu)
    case .invalidOperation: CBError(.invalidParameters)
    case .queueFull: CBError(.outOfSpace)
    case .bearerClosed: CBError(.notConnected)
    }
}

extension ChannelEnd {
    /// nil for an end that an app asked for, on this side or the other.
    var failure: ChannelEnd? {
        switch self {
        case .local, .peer: nil
        default: self
        }
    }
}

func appleError(_ end: ChannelEnd) -> any Error {
    switch end {
    case .local: CBError(.operationCancelled)
    case .peer: CBError(.peripheralDisconnected)
    case .notSupported: CBError(.operationNotSupported)
    case .noResources: CBError(.connectionLimitReached)
    case .insufficientAuthentication: CBATTError(.insufficientAuthentication)
    case .insufficientAuthorization: CBATTError(.insufficientAuthorization)
    case .insufficientEncryption: CBATTError(.insufficientEncryption)
    case .insufficientEncryptionKeySize: CBATTError(.insufficientEncryptionKeySize)
    case .refused: CBError(.connectionFailed)
    case .timedOut: CBError(.connectionTimeout)
    case .violation: CBError(.unknown)
    case .disconnected(let reason): CBError(disconnection: reason)
    }
}

extension CBError {
    init(disconnection reason: HCIErrorCode) {
        let code: Code =
            switch reason {
            case .connectionTimeout, .lmpOrLLResponseTimeout, .instantPassed: .connectionTimeout
            case .remoteUserTerminatedConnection, .remoteDeviceTerminatedLowResources,
                .remoteDeviceTerminatedPowerOff:
                .peripheralDisconnected
            case .pinOrKeyMissing: .peerRemovedPairingInformation
            case .connectionFailedToBeEstablished: .connectionFailed
            case .connectionTerminatedByLocalHost, .operationCancelledByHost: .operationCancelled
            default: .unknown
            }
        self.init(code)
    }

    init(connectionFailure reason: HCIErrorCode) {
        let code: Code =
            switch reason {
            case .connectionLimitExceeded, .connectionRejectedLimitedResources: .connectionLimitReached
            case .connectionTimeout: .connectionTimeout
            case .pinOrKeyMissing: .peerRemovedPairingInformation
            default: .connectionFailed
            }
        self.init(code)
    }
}
