import LockProtocol

/// Who may do what, as docs/PROTOCOL.md says it ("Rights", "Control point", "Changes", "Modes"): the judge's own copy. It asks nothing of the products,
/// whose table is on trial.
enum RightsTable {
    enum Ability: Sendable {
        case lock, unlock, unlatch, lockAndGo, holdOpen, keyStatus, audit, manage, time
    }

    private static let guest: Set<Ability> = [.lock, .unlock, .lockAndGo, .keyStatus]
    private static let resident = guest.union([.unlatch, .holdOpen])
    private static let administrator = resident.union([.audit, .manage])

    static func abilities(of role: Role) -> Set<Ability> {
        switch role {
        case .owner: administrator.union([.time])
        case .administrator: administrator
        case .resident: resident
        case .guest: guest
        case .lockOnly: [.lock, .keyStatus]
        }
    }

    /// What a command takes, by its first two octets; nil: no role has a right for it.
    static func abilities(for command: Ledger.Command) -> Set<Ability>? {
        switch (command.operation, command.argument) {
        case (1, 0): [.lock]
        case (2, 255): [.unlock, .holdOpen]
        case (2, _): [.unlock]
        case (3, 0...254): [.unlatch]
        case (4, 0...254): [.lockAndGo]
        default: nil
        }
    }

    static func ability(for ask: Ask) -> Ability? {
        switch ask {
        case .keyStatus: .keyStatus
        case .list, .get, .disable, .enable, .remove, .rules, .rulesOfNobody, .getSettings, .setSettings, .open, .close,
            .getWindow,
            .mode:
            .manage
        case .getTime, .setTime: .time
        case .audit, .alarm: .audit
        case .state: nil
        }
    }

    /// Whether one of this role changes what belongs to another one. `isPassing`: it has a validity or a schedule, or is of a kind that
    /// ends with an opening.
    static func ranks(_ role: Role, isPassing: Bool, above other: Role) -> Bool {
        switch role {
        case .owner: other != .owner || !isPassing
        case .administrator: other != .owner && other != .administrator
        case .resident, .guest, .lockOnly: false
        }
    }

    /// The table of the modes.
    static func admits(_ mode: LockMode, _ command: Ledger.Command, _ role: Role) -> Bool {
        let isLock = command.operation == 1
        switch mode {
        case .normal: return true
        case .passage: return command.operation == 2 || command.operation == 3
        case .privacy: return isLock || abilities(of: role).contains(.manage)
        case .lockdown: return isLock
        }
    }
}

/// What somebody asks of a lock beside commands, over an encrypted link. Others are named by their number in the house.
enum Ask: Hashable, Sendable {
    case keyStatus
    case list
    case get(Int)
    case disable(Int)
    case enable(Int)
    case remove(Int)
    case rules(Int, RuleBook)
    /// Of a number that no credential has.
    case rulesOfNobody
    case getSettings
    case setSettings(Settings)
    /// A window for the key of this number, with a role.
    case open(Int, Role)
    case close
    case getWindow
    case mode(LockMode)
    case getTime
    case setTime(Int64)
    case audit
    case alarm
    case state

    /// Of a lock, as far as this house sets them.
    struct Settings: Hashable, Sendable {
        var challengeLifeMilliseconds: UInt64
        var acceptsSigned: Bool
        var calendar: HouseCalendar
    }

    /// Whom it is about.
    var target: Int? {
        switch self {
        case .get(let other), .disable(let other), .enable(let other), .remove(let other), .rules(let other, _),
            .open(let other, _):
            other
        default: nil
        }
    }
}
