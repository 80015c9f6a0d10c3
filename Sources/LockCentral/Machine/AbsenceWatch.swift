import BluetoothCore
import LockProtocol

/// Whether an absence still counts. A return is a coming if the key has watched from the one to the other: a key that slept
/// in between, or was carried home switched off, wakes up somewhere and has seen nobody come. So an absence lasts as long as
/// the watch that has seen it. ``ProximityMachine`` owns one. In: time, and whether the radio is there. Out: whether it is unbroken.
struct AbsenceWatch {
    /// While away, the clock is looked at so often.
    static let tickMilliseconds: UInt64 = 5_000
    /// From one look at the clock, with a radio, to the next. A process that was stopped for longer, with its machine or
    /// alone, or had no radio, has not watched. A commit may take ten seconds of it.
    static let gapMaximumMilliseconds: UInt64 = 15_000
    /// How far the disk may be behind.
    static let keepingMilliseconds: UInt64 = 60_000
    /// From what the disk has to the next launch: a process that was killed, and begun anew at once. In the same boot.
    static let relaunchMaximumMilliseconds: UInt64 = 75_000

    private var looked: Instant
    private var kept: Instant
    private var isDeaf = false

    /// `kept`: what the disk has of it; nil before it has anything.
    init(since now: Instant, kept: Instant? = nil) {
        looked = now
        self.kept = kept.map { min($0, now) } ?? now
    }

    /// Whether an absence of an earlier process is one of this.
    static func outlasts(_ kept: WatchMark?, boot: BootID, now: Instant) -> Bool {
        guard let kept, kept.boot == boot else { return false }
        return now.milliseconds(since: kept.until) <= relaunchMaximumMilliseconds
    }

    /// Looks at the clock. Whether the watch is unbroken.
    mutating func look(now: Instant) -> Bool {
        guard now.milliseconds(since: looked) <= Self.gapMaximumMilliseconds else { return false }
        if !isDeaf { looked = max(looked, now) }
        return true
    }

    /// The radio has gone, or is back.
    mutating func hears(_ isHearing: Bool, now: Instant) {
        if isDeaf, isHearing { looked = max(looked, now) }
        isDeaf = !isHearing
    }

    /// Whether the disk is to have it now.
    mutating func takesKeeping(now: Instant) -> Bool {
        guard !isDeaf, now.milliseconds(since: kept) >= Self.keepingMilliseconds else { return false }
        kept = now
        return true
    }

    var deadline: Instant {
        looked.advanced(byMilliseconds: isDeaf ? Self.gapMaximumMilliseconds + 1 : Self.tickMilliseconds)
    }
}

/// Until when an absence was watched without a break, in which boot.
package struct WatchMark: Hashable, Sendable {
    package var boot: BootID
    package var until: Instant

    package init(boot: BootID, until: Instant) {
        self.boot = boot
        self.until = until
    }
}
