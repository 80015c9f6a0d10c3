import LockCentral
import LockProtocol

// How a command has ended, for people: a sentence without its capital letter and its full stop, the same at a terminal and on a desktop.

extension KeyVerdict {
    /// Why the lock has not done it, or that nobody knows; nil where the lock has taken the command.
    var obstacle: String? {
        switch self {
        case .done, .accepted: nil
        case .refused(let result): "the lock refused: \(result.name); nothing moved"
        case .aborted: "the lock took the command and then gave it up; nothing moved"
        case .unknown: "nobody knows whether the lock acted: look at it before you ask again"
        case .expired: "the lock was not reached in time; nothing was sent"
        case .cancelled: "another command took this one's place, or the lock was forgotten; nothing was sent"
        case .declined: "another command is on its way to this lock: wait for its end"
        case .unproven:
            "the time is over: what answered at the lock's address could not prove to be it (a stranger, or a lock "
                + "that has forgotten this key); nothing was sent"
        }
    }
}

extension LockResult {
    /// What came of a command that the lock had accepted.
    var end: String { "the lock took the command, and then: \(name)" }
}
