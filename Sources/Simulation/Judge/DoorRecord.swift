import BluetoothCore
import LockPeripheral
import StrikeControl

/// What a strike, its leaf and the lines beside it have seen, the orders that passed to its keeper, and the alarms that were told. No
/// process writes here by itself.
struct DoorRecord {
    struct Order: Hashable {
        let order: StrikeOrder
        let at: Instant

        init(_ order: StrikeOrder, at: Instant) { (self.order, self.at) = (order, at) }

        var opens: Bool { order.movement != .lock }
    }

    /// The coil releases the door.
    struct Release: Hashable {
        var stretch: Stretch
        /// What it was told last; nil: nobody has told it to open.
        let order: StrikeOrder?
    }

    var releases: [Release] = []
    /// The bolt is withdrawn.
    var free = Stretches()
    var open = Stretches()
    /// When the leaf was forced open.
    var crimes: [Instant] = []
    var presses = Stretches()
    var fires = Stretches()
    var tampers = Stretches()
    var hands = Stretches()
    var jams = Stretches()
    /// The bolt's sensor says the same whatever its bolt does.
    var lies = Stretches()
    /// No process of the lock is connected to the keeper.
    var unattended = Stretches()
    var orders: [Order] = []
    var alarms: [(alarm: Alarm, at: Instant)] = []
    /// When it was told that the audit has a forced door.
    var forcedRecords: [Instant] = []
    /// Of the schedules before, as long as they keep others from being told.
    private(set) var earlierAlarms: [(alarm: Alarm, at: Instant)] = []
    static let meterMilliseconds: UInt64 = 60_000
    /// When nobody could expect anything of keeper and chip.
    var absences = Absences()

    mutating func release(_ isReleased: Bool, for order: StrikeOrder?, at instant: Instant) {
        if isReleased {
            releases.append(Release(stretch: Stretch(from: instant), order: order))
        } else if let last = releases.indices.last, releases[last].stretch.to == nil {
            releases[last].stretch.to = instant
        }
    }

    /// What is over is forgotten.
    mutating func forget(at now: Instant) {
        releases.removeAll { $0.stretch.to != nil }
        free.forget()
        open.forget()
        presses.forget()
        fires.forget()
        tampers.forget()
        hands.forget()
        jams.forget()
        lies.forget()
        unattended.forget()
        earlierAlarms += alarms
        earlierAlarms.removeAll { now.milliseconds(since: $0.at) > Self.meterMilliseconds }
        (crimes, orders, alarms, forcedRecords) = ([], [], [], [])
        absences.forget()
    }
}

extension DoorRecord {
    /// Whether somebody inside, or a fire, has asked the lock to open in this time.
    func mayOpen(_ begin: Instant, _ end: Instant) -> Bool {
        (presses.all + fires.all).contains { $0.meets(begin, end) }
    }

    /// When a bolt that is open is right to be: the leaf is, there is a fire, or somebody goes out.
    var reasonsToWait: [Stretch] {
        open.all + fires.all
            + presses.all.map { Stretch(from: $0.from, to: $0.from.advanced(byMilliseconds: Self.leavingMilliseconds)) }
    }
    /// And some time in which the lock hears of it.
    private static let leavingMilliseconds = DoorRules.leavingMilliseconds + 500

    /// Whether the lock may take it that there is a fire: it hears of an end a little later, and of none while it has no keeper.
    func mayBeInFire(at instant: Instant, _ absences: [Stretch], end: Instant) -> Bool {
        fires.all.contains { fire in
            let known = (absences + self.absences.all).sorted { $0.from < $1.from }.reduce(fire.to ?? end) {
                known, absence in
                absence.from <= known
                    ? max(known, (absence.to ?? end).advanced(byMilliseconds: Self.newsMilliseconds)) : known
            }
            return fire.from <= instant && instant <= known.advanced(byMilliseconds: Self.newsMilliseconds)
        }
    }
    private static let newsMilliseconds: UInt64 = 1_500

    /// What the lock knows at an instant was so then, or a little earlier.
    static func news(before instant: Instant) -> Instant {
        Instant(nanoseconds: instant.nanoseconds - min(instant.nanoseconds, newsMilliseconds * 1_000_000))
    }
}
