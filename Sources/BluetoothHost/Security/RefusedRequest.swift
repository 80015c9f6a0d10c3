import ATT
import GATT
import L2CAP

/// What a peer refused, with all that is needed to ask once more.
enum RefusedRequest {
    case operation(SecuredOperation, GATTClientError)
    case channel(ChannelNumber, ChannelOwner, LECreditBasedConnectionResult)
}

/// What a peer's refusal says that a link lacks.
enum SecurityLack {
    case authentication, encryption, keySize
}

extension RefusedRequest {
    /// nil where security is not what was wanting, or nobody pairs for it.
    ///
    /// Core 5.4, Vol 3, Part F, 3.4.1.1 (ATT_ERROR_RSP); Vol 3, Part A, 4.23 (Table 4.20)
    var lack: SecurityLack? {
        switch self {
        case .operation(let operation, .refused(let code, _)):
            // Nobody pairs for a name that nobody asked for.
            if case .readName = operation.origin { return nil }
            return switch code {
            case .insufficientAuthentication: .authentication
            case .insufficientEncryption: .encryption
            case .encryptionKeySizeTooShort: .keySize
            default: nil
            }
        case .operation: return nil
        case .channel(_, _, let result):
            return switch result {
            case .insufficientAuthentication: .authentication
            case .insufficientEncryption: .encryption
            default: nil
            }
        }
    }

    /// Whether it was refused before.
    var isRetry: Bool {
        switch self {
        case .operation(let operation, _): operation.isRetry
        case .channel(_, let owner, _): owner.isRetry
        }
    }

    /// The same, asked for once more.
    var retried: Self {
        switch self {
        case .operation(var operation, let error):
            operation.isRetry = true
            return .operation(operation, error)
        case .channel(let number, var owner, let result):
            owner.isRetry = true
            return .channel(number, owner, result)
        }
    }
}
