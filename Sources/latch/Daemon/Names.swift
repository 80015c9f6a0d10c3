import CoreBluetoothEssentials
import DaemonControl
import LockPeripheral
import LockProtocol

// How states are called where people and programs read them.

extension BoltCode {
    var name: String {
        switch self {
        case .locked: "locked"
        case .unlocking: "unlocking"
        case .unlocked: "unlocked"
        case .locking: "locking"
        case .unlatched: "unlatched"
        case .jammed: "jammed"
        case .unknown: "unknown"
        default: "code \(rawValue)"
        }
    }
}

extension DoorCode {
    var name: String {
        switch state {
        case .closed: "closed"
        case .open: "open"
        case .ajar: "ajar"
        case .forced: "forced"
        case .unknown: "unknown"
        default: "code \(rawValue)"
        }
    }
}

extension StateDoubt {
    var name: String {
        switch self {
        case .older: "older"
        case .other: "other"
        case .unsealed: "unsealed"
        case .anchorMissing: "anchor_missing"
        case .anchorDamaged: "anchor_damaged"
        case .sealDamaged: "seal_damaged"
        case .rowsDiffer: "rows_differ"
        }
    }

    /// For people.
    var explanation: String {
        switch self {
        case .older: "the database is older than its anchor says: an old copy stands in its place"
        case .other: "the database is in another state than its anchor says"
        case .unsealed: "the database is not sealed, and its anchor says that it was"
        case .anchorMissing: "the database's anchor is gone"
        case .anchorDamaged: "the database's anchor is damaged, or belongs to another machine key"
        case .sealDamaged: "the database's seal is damaged"
        case .rowsDiffer: "credentials or settings were taken out of the database, or put back into it"
        }
    }
}

extension LockResult {
    var name: String {
        switch self {
        case .done: "done"
        case .accepted: "accepted"
        case .challengeDead: "challenge dead"
        case .notPermitted: "not permitted"
        case .outsideSchedule: "outside schedule"
        case .credentialExpired: "credential expired"
        case .busy: "busy"
        case .jammed: "jammed"
        case .doorOpen: "door open"
        case .clockUntrusted: "clock untrusted"
        case .lockedOut: "locked out"
        case .aborted: "aborted"
        case .modeForbids: "mode forbids"
        default: "result \(rawValue)"
        }
    }
}

extension CBManagerState {
    var name: String {
        switch self {
        case .unknown: "unknown"
        case .resetting: "resetting"
        case .unsupported: "unsupported"
        case .unauthorized: "unauthorized"
        case .poweredOff: "off"
        case .poweredOn: "on"
        }
    }
}

extension ScheduleVerdict {
    var name: String {
        switch self {
        case .within: "within"
        case .outside: "outside"
        case .expired: "expired"
        case .clockUntrusted: "clock_untrusted"
        }
    }
}
