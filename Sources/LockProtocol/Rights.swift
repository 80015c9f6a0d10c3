#if LATCH_PLANTS
import BluetoothCore
#endif

/// What a credential may do. Rights belong to the credential, never to an address.
package struct Rights: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let lock = Self(rawValue: 1 << 0)
    package static let unlock = Self(rawValue: 1 << 1)
    package static let unlatch = Self(rawValue: 1 << 2)
    package static let lockAndGo = Self(rawValue: 1 << 3)
    package static let holdOpen = Self(rawValue: 1 << 4)
    package static let readKeyStatus = Self(rawValue: 1 << 5)
    package static let readAudit = Self(rawValue: 1 << 6)
    package static let manageCredentials = Self(rawValue: 1 << 7)
    package static let manageSchedules = Self(rawValue: 1 << 8)
    package static let changeMode = Self(rawValue: 1 << 9)
    package static let changeSettings = Self(rawValue: 1 << 10)
    package static let setTime = Self(rawValue: 1 << 11)
    package static let openEnrolment = Self(rawValue: 1 << 12)
    package static let factoryReset = Self(rawValue: 1 << 13)

    /// What is left of them for a program with a key of its own: what its commands carry the authenticator for, and the question what
    /// became of one. Of anything else nobody knows which of the programs on its host has asked.
    package static let programs: Self = [.lock, .unlock, .unlatch, .lockAndGo, .holdOpen, .readKeyStatus]

    /// Whether who has these may do what takes `required`. The one question, of commands and of procedures.
    package func permit(_ required: Self) -> Bool {
        #if LATCH_PLANTS
        return union(Plant.active?.right ?? []).isSuperset(of: required)
        #else
        return isSuperset(of: required)
        #endif
    }
}

#if LATCH_PLANTS
extension Plant {
    fileprivate var right: Rights? {
        switch self {
        case .rightLock: .lock
        case .rightUnlock: .unlock
        case .rightUnlatch: .unlatch
        case .rightLockAndGo: .lockAndGo
        case .rightHoldOpen: .holdOpen
        case .rightReadKeyStatus: .readKeyStatus
        case .rightManageCredentials: .manageCredentials
        case .rightManageSchedules: .manageSchedules
        case .rightChangeSettings: .changeSettings
        case .rightOpenEnrolment: .openEnrolment
        case .rightReadAudit: .readAudit
        case .rightChangeMode: .changeMode
        case .rightSetTime: .setTime
        default: nil
        }
    }
}
#endif

/// What kind of person a credential stands for. Kept by its number.
package enum Role: UInt8, Sendable, CaseIterable {
    case owner = 1
    case administrator = 2
    case resident = 3
    case guest = 4
    /// Lets itself out and locks up, but never opens: cleaners, couriers, an automation.
    case lockOnly = 5

    /// The one table. Everything that may or may not be done is looked up here.
    ///
    /// The time is for owners: a late one is believed for good, and ends what expires for everybody.
    package var rights: Rights {
        switch self {
        case .owner:
            [
                .lock, .unlock, .unlatch, .lockAndGo, .holdOpen, .readKeyStatus, .readAudit, .manageCredentials,
                .manageSchedules, .changeMode, .changeSettings, .setTime, .openEnrolment, .factoryReset,
            ]
        case .administrator:
            [
                .lock, .unlock, .unlatch, .lockAndGo, .holdOpen, .readKeyStatus, .readAudit, .manageCredentials,
                .manageSchedules, .changeMode, .changeSettings, .openEnrolment,
            ]
        case .resident: [.lock, .unlock, .unlatch, .lockAndGo, .holdOpen, .readKeyStatus]
        case .guest: [.lock, .unlock, .lockAndGo, .readKeyStatus]
        case .lockOnly: [.lock, .readKeyStatus]
        }
    }
}

extension LockCommand {
    /// What its sender must have; nil when no role can be given it: an operation that this version does not know, or an
    /// argument that says nothing for its operation.
    package var requiredRights: Rights? {
        switch (operation, argument) {
        case (.lock, .setting): .lock
        case (.unlock, .setting), (.unlock, .after): .unlock
        case (.unlock, .holdOpen): [.unlock, .holdOpen]
        case (.unlatch, .setting), (.unlatch, .after): .unlatch
        case (.lockAndGo, .setting), (.lockAndGo, .after): .lockAndGo
        default: nil
        }
    }
}

extension ControlPointOpcode {
    /// The procedures of this version, in their order, and what the sender of each must have.
    private static let rights: KeyValuePairs<Self, Rights> = [
        .keyStatus: .readKeyStatus,
        .listCredentials: .manageCredentials,
        .getCredential: .manageCredentials,
        .disableCredential: .manageCredentials,
        .enableCredential: .manageCredentials,
        .removeCredential: .manageCredentials,
        .setSchedule: .manageSchedules,
        .getSettings: .changeSettings,
        .openEnrolment: .openEnrolment,
        .closeEnrolment: .openEnrolment,
        .getEnrolment: .openEnrolment,
        .setSettings: .changeSettings,
        .setMode: .changeMode,
        .getTime: .setTime,
        .setTime: .setTime,
        .agreeOnKey: .readKeyStatus,
        .confirmKey: .readKeyStatus,
    ]

    package static let known = rights.map(\.key)

    /// What the sender of a request must have; nil for procedures that this version does not know.
    package var requiredRights: Rights? { Self.rights.first { $0.key == self }?.value }
}

extension RecordAccessOpcode {
    /// The procedures of this version, in their order, and what the sender of each must have.
    private static let rights: KeyValuePairs<Self, Rights> = [
        .reportStoredRecords: .readAudit,
        .abortOperation: .readAudit,
        .reportNumberOfStoredRecords: .readAudit,
    ]

    package static let known = rights.map(\.key)

    /// What the sender of a request must have; nil for procedures that this version does not know.
    package var requiredRights: Rights? { Self.rights.first { $0.key == self }?.value }
}

extension Role {
    /// Whose credentials one of this role changes over the air, besides those that it may never change: its own. `isPassing`: it has a
    /// validity or a schedule, or is of a kind that ends with an opening.
    ///
    /// Only an owner who may come at any time, and stays, changes owners. So behind each procedure there is such an owner still: its sender.
    package func mayManage(_ other: Role, isPassing: Bool) -> Bool {
        #if LATCH_PLANTS
        if Plant.active == .rank { return true }
        #endif
        return switch (self, other) {
        case (.owner, .owner): !isPassing
        case (.owner, .administrator), (.owner, .resident), (.owner, .guest), (.owner, .lockOnly): true
        case (.administrator, .resident), (.administrator, .guest), (.administrator, .lockOnly): true
        case (.administrator, .owner), (.administrator, .administrator): false
        case (.resident, _), (.guest, _), (.lockOnly, _): false
        }
    }
}
