import LockProtocol

/// Whom the operator let in. Rights belong here; a bond only says which key it is held by.
package struct Credential: Hashable, Sendable {
    package var id: CredentialID
    package var name: String
    package var role: Role
    package var isEnabled: Bool
    /// The raw value of the security manager's `BondID`; nil until somebody has enrolled.
    package var bond: UInt64?
    package var validity: Validity
    /// When, within its validity. None: always.
    package var schedules: CredentialSchedules
    /// Whose device it is; nil: of a user who is called as the credential is.
    package var user: String?
    /// Of the user.
    package var kind: UserKind

    package init(
        id: CredentialID, name: String, role: Role, isEnabled: Bool = true, bond: UInt64? = nil,
        validity: Validity = .always, schedules: CredentialSchedules = .none, user: String? = nil,
        kind: UserKind = .ordinary
    ) {
        self.id = id
        self.name = name
        self.role = role
        self.isEnabled = isEnabled
        self.bond = bond
        self.validity = validity
        self.schedules = schedules
        self.user = user
        self.kind = kind
    }
}

extension Credential {
    package var userName: String { user ?? name }

    /// It has a validity or a schedule.
    package var isLimited: Bool { validity != .always || !schedules.isEmpty }

    /// It may not come at any time, or not for good: by its own rules, or as its kind of user ends with an opening.
    package var isPassing: Bool {
        switch kind {
        case .disposable, .expiring: true
        case .ordinary, .duress: isLimited
        }
    }

    /// As the control point tells it.
    package var record: CredentialRecord {
        var flags: CredentialRecord.Flags = []
        if isEnabled { flags.insert(.enabled) }
        if isLimited { flags.insert(.scheduled) }
        if bond != nil { flags.insert(.enrolled) }
        return CredentialRecord(
            id: id, role: role.rawValue, flags: flags, name: name, validity: validity, schedules: schedules,
            kind: kind, user: user)
    }
}

extension Sequence where Element == Credential {
    /// The users whose devices a window is about that opens for this name: of whom there is one of the name, and whose the new one is
    /// going to be. `user`: nil for who is called as the credential is.
    func users(concernedBy name: String, of user: String?) -> Set<String> {
        Set(lazy.filter { $0.name == name }.map(\.userName)).union([user ?? name])
    }
}
