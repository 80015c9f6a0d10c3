#if LATCH_PLANTS
import Glibc

/// A guard taken out of the products on purpose, so that `scripts/mutants` can show who notices. Compiled only with
/// `-Xswiftc -DLATCH_PLANTS`: no program that anybody runs has these.
package enum Plant: String, CaseIterable, Sendable {
    // What a kill must not undo or repeat.

    /// The outcome of a command that a kill interrupted is not written at the next launch.
    case lost
    /// An intent is carried out again at the next launch although it was carried out.
    case duplicate
    /// An opening is made however late it is.
    case late
    /// A client's subscriptions are not written down.
    case subscription

    // What a stranger must not get through.

    /// Neither the counter nor the challenge of a command is looked at.
    case replay
    /// The signature of a command is not looked at.
    case mac
    /// The counter of a command counts before its signature is looked at.
    case counterFirst = "counter-first"
    /// Whether a link is encrypted is not looked at.
    case clear
    /// A challenge lives for ever.
    case stale
    /// A challenge can be answered more than once.
    case reuse
    /// Anything passes for a lock's receipt.
    case receipt
    /// A key signs for all its locks with one signing key.
    case shared
    /// What a credential may do is not looked at.
    case role
    /// When a credential may do anything is not looked at.
    case schedule
    /// A pairing goes on with whichever method the peer wants.
    case pinned
    // What one right alone allows, everybody may.
    case rightLock = "right-lock"
    case rightUnlock = "right-unlock"
    case rightUnlatch = "right-unlatch"
    case rightLockAndGo = "right-lock-and-go"
    case rightHoldOpen = "right-hold-open"
    case rightReadKeyStatus = "right-key-status"
    case rightManageCredentials = "right-credentials"
    case rightManageSchedules = "right-schedules"
    case rightChangeSettings = "right-settings"
    case rightOpenEnrolment = "right-enrolment"
    case rightReadAudit = "right-audit"
    case rightChangeMode = "right-mode"
    case rightSetTime = "right-time"
    /// What the door is for at present is not looked at.
    case mode
    /// A manager changes whomever it wants.
    case rank
    /// An opening uses nothing up.
    case spent
    /// Nobody is locked out.
    case lockout

    // What a door with a strike must not do.

    /// In a fire a bolt that is found locked, behind a pulse or a keeper's death, stays so.
    case wayOut = "way-out"
    /// A pulse lasts longer than was asked.
    case pulse
    /// A door is held for a lock that is gone.
    case orphan
    /// What was under way when the keeper went is ordered again of the next one.
    case twice
    /// The bolt is sent out, whether the door is open or not.
    case openDoor = "open-door"
    /// Nobody is told of a bolt that does not come.
    case jam
    /// Nobody is told of a door that is forced.
    case forced
    /// Nobody is told of a door that is left open.
    case ajar
    /// Nobody is told of what was on record when the lock was killed.
    case untold
    /// Nobody is let out by the button inside while the bolt goes out.
    case exit

    // What a disk must not do to them.

    /// Packets leave before what they rest on is on disk.
    case told
    /// A commit whose flush has failed is taken for made.
    case flush
    /// A commit that found no room is taken for made.
    case full
    /// Who wrote a row is not looked at.
    case row
    /// Whether the database is the newest one is not looked at.
    case anchor
    /// Two processes work on one database.
    case claim
    /// A command leaves the key although its time is over.
    case held
    /// The lock does not look at the bound that a command's sender has set.
    case unbounded

    /// The one that `LATCH_PLANT` names, until somebody sets another before anything else runs.
    nonisolated(unsafe) package static var active: Plant? =
        getenv("LATCH_PLANT").flatMap { Plant(rawValue: String(cString: $0)) }
}
#endif
