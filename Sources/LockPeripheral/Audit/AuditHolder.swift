import LockProtocol

/// On whose account a record is, when there is no room for all of them. Not part of the chain: it says what may go, and proves nothing.
package struct AuditHolder: Hashable, Sendable {
    /// nil: of nobody who has a key.
    package let credential: CredentialID?
    /// Of administration, or of somebody who may administer: others' records never take its place.
    package let isProtected: Bool

    package init(credential: CredentialID?, isProtected: Bool) {
        self.credential = credential
        self.isProtected = isProtected
    }

    /// The lock's own movements and starts, the door, and bonds without a credential.
    package static let lock = Self(credential: nil, isProtected: false)
    package static let administration = Self(credential: nil, isProtected: true)
}

extension AuditHolder: Comparable {
    package static func < (a: Self, b: Self) -> Bool {
        (a.isProtected ? 1 : 0, a.credential.map { $0.rawValue } ?? 0, a.credential == nil ? 0 : 1)
            < (b.isProtected ? 1 : 0, b.credential.map { $0.rawValue } ?? 0, b.credential == nil ? 0 : 1)
    }
}

extension AuditEvent {
    /// Whether an operator at the machine said so, which ``operatorIs(user:)`` goes before.
    var isOperators: Bool {
        switch self {
        case .administered, .bondDeleted, .stateConfirmed, .windowOpened, .modeChanged(_, by: nil), .reset,
            .operated:
            true
        default: false
        }
    }

    /// Who changes what others may do.
    var isAdministration: Bool {
        switch self {
        case .administered, .managed, .windowManaged, .stateConfirmed, .bondDeleted, .windowOpened, .windowClosed,
            .enrolled, .settingsChanged, .settingsManaged, .modeChanged, .timeSet, .reset, .operatorIs, .auditDoubted,
            .userSet, .operated:
            true
        case .granted, .refused, .refusalsSuppressed, .idleGrantsSuppressed, .securing, .outcome, .bolt, .door,
            .launched, .stopped, .clockStepped, .securedUnrecorded, .relaunched, .bondExpired, .procedureRefused,
            .spent, .lockedOut, .duress, .held, .opening:
            false
        }
    }
}
