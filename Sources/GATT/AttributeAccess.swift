import ATT

#if LATCH_PLANTS
import BluetoothCore
#endif

/// What a link must be before one path to an attribute's value opens.
///
/// Core 5.4, Vol 3, Part C, 10.2.1 (LE security mode 1)
package enum AttributeRequirement: UInt8, Hashable, Sendable, CaseIterable {
    /// The path does not exist.
    case forbidden = 0
    /// Level 1: no security.
    case open = 1
    /// Level 2: encrypted.
    case encrypted = 2
    /// Level 3: encrypted with a key from a pairing with MITM protection.
    case encryptedAuthenticated = 3
    /// Level 4: as level 3, by LE Secure Connections and with 16 octets of key.
    case encryptedSecureConnections = 4
}

/// The permissions of an attribute, one for each path to its value: a command that may only come signed on an
/// unencrypted link may come as a plain request on an encrypted one, so one bit for "write" will not do.
///
/// Core 5.4, Vol 3, Part F, 3.2.5 (Attribute Permissions)
package struct AttributeAccess: Hashable, Sendable {
    package var read: AttributeRequirement
    /// Write Request, Prepare Write Request.
    package var writeRequest: AttributeRequirement
    /// Write Command.
    package var writeCommand: AttributeRequirement
    /// Signed Write Command, which only ever counts on an unencrypted link.
    package var signedWrite: Bool
    /// Signatures count only with a key from a pairing with MITM protection: LE security mode 2 level 2, where false is
    /// level 1. Apple's permissions cannot say it; the lock's command characteristic does.
    ///
    /// Core 5.4, Vol 3, Part C, 10.2.2 (LE security mode 2), 10.4.2 (Authenticate Signed Data procedure)
    package var signatureNeedsAuthentication: Bool
    /// Writing the CCC descriptor, and every notification and indication that follows from it.
    package var subscribe: AttributeRequirement
    /// Octets of key wanted by the encrypted requirements, 7–16.
    package var minimumKeySize: UInt8
    /// The paths above are closed to peers that the host's owner has not authorised.
    package var requiresAuthorization: Bool

    package init(
        read: AttributeRequirement = .forbidden, writeRequest: AttributeRequirement = .forbidden,
        writeCommand: AttributeRequirement = .forbidden, signedWrite: Bool = false,
        signatureNeedsAuthentication: Bool = false,
        subscribe: AttributeRequirement = .forbidden, minimumKeySize: UInt8 = 7, requiresAuthorization: Bool = false
    ) {
        self.read = read
        self.writeRequest = writeRequest
        self.writeCommand = writeCommand
        self.signedWrite = signedWrite
        self.signatureNeedsAuthentication = signatureNeedsAuthentication
        self.subscribe = subscribe
        self.minimumKeySize = minimumKeySize
        self.requiresAuthorization = requiresAuthorization
    }

    /// Anybody may read, nobody may write.
    package static let readOnly = Self(read: .open)
}

/// The four ways in which a peer reaches for a value.
package enum AttributePath: UInt8, Hashable, Sendable, CaseIterable { case read, writeRequest, writeCommand, subscribe }

extension AttributeAccess {
    package subscript(path: AttributePath) -> AttributeRequirement {
        switch path {
        case .read: read
        case .writeRequest: writeRequest
        case .writeCommand: writeCommand
        case .subscribe: subscribe
        }
    }

    /// nil when `security` opens `path`, else what the peer lacks.
    ///
    /// Core 5.4, Vol 3, Part C, 10.3.1 (Responding to a service request)
    package func refusal(on path: AttributePath, _ security: LinkSecurity) -> ATTErrorCode? {
        #if LATCH_PLANTS
        let requirement = Plant.active == .clear && self[path] != .forbidden ? .open : self[path]
        #else
        let requirement = self[path]
        #endif
        switch requirement {
        case .forbidden: return path == .read ? .readNotPermitted : .writeNotPermitted
        case .open: break
        case .encrypted, .encryptedAuthenticated, .encryptedSecureConnections:
            guard security.encrypted else {
                return security.bonded ? .insufficientEncryption : .insufficientAuthentication
            }
            if requirement != .encrypted, !security.authenticated { return .insufficientAuthentication }
            if requirement == .encryptedSecureConnections {
                guard security.secureConnections else { return .insufficientAuthentication }
                guard security.keySize >= 16 else { return .encryptionKeySizeTooShort }
            }
            guard security.keySize >= minimumKeySize else { return .encryptionKeySizeTooShort }
        }
        return requiresAuthorization && !security.authorized ? .insufficientAuthorization : nil
    }
}
