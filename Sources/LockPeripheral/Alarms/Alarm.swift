import LockProtocol

/// Something at the lock that its owner wants to hear of at once.
package enum Alarm: Hashable, Sendable {
    case forced(ForcedPart)
    /// Where the bolt rests in place of where it was sent.
    case jam(BoltPosition)
    case tamper(TamperCause)
    case rollback
    case clock(ClockFault)
    /// nil: of a bond without a credential.
    case refusals(of: CredentialID?)
    case duress(of: CredentialID)
    case lockout(of: CredentialID?)
    case ajar

    /// What speaks against the state that rights rest on.
    package init(_ doubt: StateDoubt) { self = doubt == .older ? .rollback : .tamper(.state(doubt)) }

    package var kind: AlarmKind {
        switch self {
        case .forced: .forced
        case .jam: .jam
        case .tamper: .tamper
        case .rollback: .rollback
        case .clock: .clock
        case .refusals: .refusals
        case .duress: .duress
        case .lockout: .lockout
        case .ajar: .ajar
        }
    }

    /// On the air.
    package var cause: UInt8 {
        switch self {
        case .forced(let part): part.rawValue
        case .jam(let position): position.rawValue
        case .tamper(let cause): cause.number
        case .clock(let fault): fault.rawValue
        case .rollback, .refusals, .duress, .lockout, .ajar: 0
        }
    }

    /// What ``kind``, ``cause`` and ``credential`` are of; nil where no alarm has these.
    package init?(_ kind: AlarmKind, cause: UInt8, of credential: CredentialID?) {
        let found: Self? =
            switch kind {
            case .forced: ForcedPart(rawValue: cause).map { .forced($0) }
            case .jam: BoltPosition(rawValue: cause).map { .jam($0) }
            case .tamper: TamperCause(number: cause).map { .tamper($0) }
            case .rollback: .rollback
            case .clock: ClockFault(rawValue: cause).map { .clock($0) }
            case .refusals: .refusals(of: credential)
            case .duress: credential.map { .duress(of: $0) }
            case .lockout: .lockout(of: credential)
            case .ajar: .ajar
            default: nil
            }
        guard let found, found.cause == cause, found.credential == credential else { return nil }
        self = found
    }

    /// Whom it is about.
    package var credential: CredentialID? {
        switch self {
        case .refusals(let credential), .lockout(let credential): credential
        case .duress(let credential): credential
        case .forced, .jam, .tamper, .rollback, .clock, .ajar: nil
        }
    }
}

/// What moved without a command. Told by its number.
package enum ForcedPart: UInt8, Sendable, CaseIterable {
    /// It left its place, by a hand on the inside or by force.
    case bolt = 1
    case door = 2
}

/// What cannot be believed.
package enum TamperCause: Hashable, Sendable {
    /// One row of the database.
    case row
    /// The end of the audit, found at a launch.
    case audit
    /// The door's contact says that somebody is at it.
    case door
    /// The rows that rights rest on.
    case state(StateDoubt)

    /// The first number of a doubt, to which the doubt's own is added.
    private static let stateNumber: UInt8 = 16

    init?(number: UInt8) {
        switch number {
        case 1: self = .row
        case 2: self = .audit
        case 3: self = .door
        case Self.stateNumber...:
            guard let doubt = StateDoubt(rawValue: number - Self.stateNumber) else { return nil }
            self = .state(doubt)
        default: return nil
        }
    }

    /// On the air.
    package var number: UInt8 {
        switch self {
        case .row: 1
        case .audit: 2
        case .door: 3
        case .state(let doubt): Self.stateNumber + doubt.rawValue
        }
    }
}

/// Why the clock on the wall, which the audit has believed once, is not believed now. Told by its number.
package enum ClockFault: UInt8, Sendable, CaseIterable {
    /// It says no time that it can be.
    case unset = 1
    /// It is behind the audit's last time (``WallClockMark/backwardsMaximumSeconds``).
    case behind = 2
}

/// An alarm as it is told.
package struct AlarmReport: Hashable, Sendable {
    package var alarm: Alarm
    /// The sequence of the audit's record that it stands on. Who hears the same alarm on the same record again has heard it twice.
    package var record: UInt64?
    /// The last of its kind for a while: more are counted, and not told.
    package var hasMore: Bool
    /// An earlier program has raised it, and may not have told it (``AlarmDebt``).
    package var isLate: Bool
    /// Which one it is of those that this program has raised to be told, from 1 on.
    package var number: UInt64

    package init(
        _ alarm: Alarm, on record: UInt64? = nil, hasMore: Bool = false, isLate: Bool = false, number: UInt64
    ) {
        self.alarm = alarm
        self.record = record
        self.hasMore = hasMore
        self.isLate = isLate
        self.number = number
    }
}
