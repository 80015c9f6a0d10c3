#if LATCH_PLANTS
import BluetoothCore
#endif

/// What the clock says of a credential: weekday, holiday and validity rules end here.
package enum ScheduleVerdict: Sendable, Equatable, CaseIterable {
    case within
    case outside
    case expired
    /// There is a rule, and no clock to hold it against.
    case clockUntrusted
}

/// From when until when a credential is good, in seconds since 1970; either end may be open.
package struct Validity: Hashable, Sendable {
    package var notBeforeSeconds: Int64?
    /// The first second in which it is expired.
    package var notAfterSeconds: Int64?

    package static let always = Self()

    package init(notBeforeSeconds: Int64? = nil, notAfterSeconds: Int64? = nil) {
        self.notBeforeSeconds = notBeforeSeconds
        self.notAfterSeconds = notAfterSeconds
    }

    /// `wallClockSeconds` is nil while the clock cannot be trusted.
    package func verdict(wallClockSeconds: Int64?) -> ScheduleVerdict {
        if notBeforeSeconds == nil && notAfterSeconds == nil { return .within }
        guard let now = wallClockSeconds else { return .clockUntrusted }
        if let end = notAfterSeconds, now >= end { return .expired }
        if let start = notBeforeSeconds, now < start { return .outside }
        return .within
    }
}

/// What the decision needs to know of whoever asks.
package struct AccessSubject: Sendable, Equatable {
    package var isEnabled: Bool
    package var rights: Rights
    package var schedule: ScheduleVerdict
    /// Backing off after too many refusals.
    package var isLockedOut: Bool

    package init(isEnabled: Bool, rights: Rights, schedule: ScheduleVerdict, isLockedOut: Bool = false) {
        self.isEnabled = isEnabled
        self.rights = rights
        self.schedule = schedule
        self.isLockedOut = isLockedOut
    }
}

/// The decision on one command: the same on every path, for every operation.
package enum AccessPolicy {
    /// `accepted` is a grant, everything else a refusal. `subject` is nil when the bond has no credential.
    ///
    /// `mode` is the lock's.
    ///
    /// The order matters: a dead challenge comes first and tells nothing; who may not ask is not told how the bolt stands.
    package static func decide(
        _ command: LockCommand, isChallengeLive: Bool, subject: AccessSubject?, mode: LockMode = .normal,
        bolt: BoltCode, door: DoorCode
    ) -> LockResult {
        guard isChallengeLive else { return .challengeDead }
        guard let subject, subject.isEnabled else { return .notPermitted }
        if subject.isLockedOut { return .lockedOut }
        #if LATCH_PLANTS
        let schedule = Plant.active == .schedule ? .within : subject.schedule
        #else
        let schedule = subject.schedule
        #endif
        switch schedule {
        case .within: break
        case .outside: return .outsideSchedule
        case .expired: return .credentialExpired
        case .clockUntrusted: return .clockUntrusted
        }
        #if LATCH_PLANTS
        if Plant.active == .role, command.requiredRights != nil {
            return allowed(command.operation, bolt: bolt, door: door)
        }
        #endif
        guard let required = command.requiredRights, subject.rights.permit(required) else {
            return .notPermitted
        }
        guard mode.admits(command.operation, subject.rights) else { return .modeForbids }
        return allowed(command.operation, bolt: bolt, door: door)
    }

    private static func allowed(_ operation: LockOperation, bolt: BoltCode, door: DoorCode) -> LockResult {
        switch bolt {
        case .unlocking, .locking, .unlatched: .busy
        // Opening a jammed bolt may free it; sending it out again would only jam it harder.
        case .jammed where operation.isSecuring: .jammed
        default: operation.isSecuring && door.standsOpen ? .doorOpen : .accepted
        }
    }
}
