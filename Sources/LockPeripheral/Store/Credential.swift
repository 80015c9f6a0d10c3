import LockProtocol

/// A credential's name inside the lock. Never used twice.
package struct CredentialID: Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Whom the operator let in. Rights belong here; a bond only says which key it is held by.
package struct Credential: Hashable, Sendable {
    package static let nameOctetsMaximum = 64

    package var id: CredentialID
    package var name: String
    package var role: Role
    package var isEnabled: Bool
    /// The raw value of the security manager's `BondID`; nil until somebody has enrolled.
    package var bond: UInt64?
    package var validity: Validity
    /// When, within its validity. None: always.
    package var schedules: CredentialSchedules

    package init(
        id: CredentialID, name: String, role: Role, isEnabled: Bool = true, bond: UInt64? = nil,
        validity: Validity = .always, schedules: CredentialSchedules = .none
    ) {
        self.id = id
        self.name = name
        self.role = role
        self.isEnabled = isEnabled
        self.bond = bond
        self.validity = validity
        self.schedules = schedules
    }
}

/// What the owner can set.
package struct LockSettings: Hashable, Sendable {
    package static let challengeLifeMinimumMilliseconds: UInt64 = 1_000
    /// As much as a challenge's octet can say.
    package static let challengeLifeMaximumMilliseconds: UInt64 = 25_500

    /// After an unlock that names no time; nil leaves the bolt open until somebody locks it.
    package var relockSeconds: UInt16?
    /// After lock-and-go, when the command names no time.
    package var lockAndGoSeconds: UInt16
    /// Out of bounds, the nearest bound counts.
    package var challengeLifeMilliseconds: UInt64
    /// Off: every command has to come over an encrypted link.
    package var acceptsSigned: Bool
    /// What schedules go by.
    package var calendar: LockCalendar

    package init(
        relockSeconds: UInt16? = 10, lockAndGoSeconds: UInt16 = 20, challengeLifeMilliseconds: UInt64 = 5_000,
        acceptsSigned: Bool = true, calendar: LockCalendar = .utc
    ) {
        self.relockSeconds = relockSeconds
        self.lockAndGoSeconds = lockAndGoSeconds
        self.challengeLifeMilliseconds = challengeLifeMilliseconds
        self.acceptsSigned = acceptsSigned
        self.calendar = calendar
    }
}
