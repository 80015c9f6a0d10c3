import BluetoothCore
import LockProtocol

/// The door's contact and its inputs: what they say, and what they ask of the bolt. Part of ``LockMachine``.
struct Doorway {
    /// How often an opening that is owed is tried, with a bolt that does not get there.
    static let openingsMaximum = 3

    var rules: DoorRules
    /// As its input says.
    var isFire: Bool
    /// By the schedule.
    var isPassage = false
    /// What holds the bolt open, as the last turn has left it. On disk.
    var hold: DoorHold?
    /// Openings that are still to be tried, as soon as the bolt rests, and what for. None is left of a hold whose bolt did not get there.
    var owed: (cause: OpeningCause, left: Int)?
    /// When an open door is ajar. On disk.
    var ajar: BootDeadline?
    /// When the hours of the schedule are looked at again.
    var hoursReview: Instant?
    private var exitUntil: Instant?
    /// Somebody goes out: the bolt is not sent out behind his back.
    private var leaving: Leaving?

    private struct Leaving {
        let until: Instant
        /// He has pressed while the bolt was open: what ends that opening gives him another one.
        let isOwed: Bool
        /// The door has opened since.
        var hasOpened = false
    }

    /// `kept`: what the last process left on disk.
    init(_ rules: DoorRules, isFire: Bool, hold: DoorHold?, ajar: BootDeadline?) {
        self.rules = rules
        self.isFire = isFire
        self.hold = hold
        self.ajar = ajar
    }

    mutating func announceExit(now: Instant) {
        exitUntil = now.advanced(byMilliseconds: DoorRules.exitMilliseconds)
    }

    // MARK: Somebody who goes out

    /// `isOpen`: nothing had to be ordered for him.
    mutating func letOut(until: Instant, isOpen: Bool) { leaving = Leaving(until: until, isOwed: isOpen) }

    /// Until when nobody locks; nil: from now on.
    func leavingUntil(at now: Instant) -> Instant? {
        leaving.flatMap { now < $0.until ? $0.until : nil }
    }

    /// Whether a bolt that has gone out without an order opens once more: for that, he is let out anew.
    func owesExit(at now: Instant) -> Bool { leavingUntil(at: now) != nil && leaving?.isOwed == true }

    /// Somebody has gone out when the door has opened and closed behind the button.
    private mutating func watchLeaving(_ said: DoorCode, behind known: DoorCode) {
        if said.standsOpen {
            if !known.standsOpen { leaving?.hasOpened = true }
        } else if known.standsOpen, leaving?.hasOpened == true {
            leaving = nil
        }
    }

    // MARK: The contact

    /// What it means that the contact says this now. `bolt`: where it rests, nil on its way.
    mutating func take(
        _ said: DoorCode, behind known: DoorCode, bolt: BoltPosition?, at now: BootDeadline
    ) -> DoorCode {
        watchLeaving(said, behind: known)
        guard said.standsOpen else {
            ajar = nil
            return said
        }
        // The contact's own word counts in any case, and else it is open all the while, forced or ajar.
        if known.standsOpen { return said.state == .open ? known.state.with(flags: said.rawValue) : said }
        ajar = rules.ajarSeconds.map {
            BootDeadline(boot: now.boot, at: now.at.advanced(byMilliseconds: UInt64($0) * 1_000))
        }
        let isExit = exitUntil.map { now.at < $0 } ?? false
        exitUntil = nil
        return bolt == .locked && !isExit ? DoorCode.forced.with(flags: said.rawValue) : said
    }

    /// The door has been open for too long; nil where it has not.
    mutating func ajarCode(behind known: DoorCode, at now: BootDeadline) -> DoorCode? {
        guard known.state == .open, let ajar, now.at >= ajar.due(in: now.boot) else { return nil }
        self.ajar = nil
        return DoorCode.ajar.with(flags: known.rawValue)
    }

    /// One of the openings that are owed is tried.
    mutating func takeOpening() -> OpeningCause? {
        guard let (cause, left) = owed, left > 0 else { return nil }
        owed = cause == .exit ? nil : (cause, left - 1)
        return cause
    }
}
