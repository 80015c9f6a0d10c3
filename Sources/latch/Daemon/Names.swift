import CoreBluetoothEssentials
import DaemonControl
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
        default: "result \(rawValue)"
        }
    }
}

extension LockOperation {
    var name: String {
        switch self {
        case .lock: "lock"
        case .unlock: "unlock"
        case .unlatch: "unlatch"
        case .lockAndGo: "lock-and-go"
        default: "operation \(rawValue)"
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
