import BluetoothCore

/// Whether the key is at its lock's door. In: advertisements' RSSI, the RSSI of a link that the lock has encrypted, time. Out:
/// whether a link is wanted to measure on, and what was found on one. ``KeyMachine`` owns one for each lock.
///
/// An advertisement proves that somebody has a recorder. It may make the key look; what the key finds, it finds on a link
/// that is encrypted with the lock's bond. To come near takes an absence first, and only such a link shows one: silence, a
/// jammed band and lost links show nothing. An absence lasts as long as the watch that has seen it (``AbsenceWatch``). It
/// decides when to ask, never what is allowed.
package struct ProximityMachine {
    /// For so long every sample has to say the same.
    static let dwellMilliseconds: UInt64 = 1_500
    /// Nothing heard for this long, while near: a link is wanted, and waits for as long as it takes. A key that comes
    /// back is first met at the edge of the range, which is the absence.
    static let silenceMilliseconds: UInt64 = 20_000
    /// Between two readings of a link's RSSI.
    package static let samplingMilliseconds: UInt64 = 100
    /// Readings that are further apart than this are not of one stay.
    static let samplingGapMaximumMilliseconds: UInt64 = 500
    /// A link that has shown nothing by then is let go.
    static let measurementMaximumMilliseconds: UInt64 = 5_000
    /// After a link that has shown nothing new, no advertisement is looked at for so long; twice as long after each further
    /// one. The most that a stranger who plays advertisements costs is one link of a few seconds in a minute.
    static let restMinimumMilliseconds: UInt64 = 2_000
    static let restMaximumMilliseconds: UInt64 = 60_000
    /// Where nothing but a link shows that somebody comes, no rest while away is longer than this.
    static let deafRestMaximumMilliseconds: UInt64 = 15_000
    /// Who is so much nearer than at the last link is on his way.
    static let approachDB = 6
    /// So often in ten minutes proximity may ask for an opening. Each needs an absence and a return that links have shown.
    static let openingsMaximum = 4
    static let openingsWindowMilliseconds: UInt64 = 600_000
    /// How much of the smoothed value each sample replaces: one part in this many.
    static let smoothing = 4
    /// The controller does not know.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.65.2 (LE Advertising Report event), 7.5.4 (Read RSSI command)
    static let unavailable: Int8 = 127

    /// What a link has shown.
    package enum Finding: Equatable, Sendable {
        /// Near, after an absence.
        case came
        /// Away, after having been near.
        case left
        /// Away, where near was presumed and nothing had shown it: nobody has left.
        case stayedAway
        /// Nothing that was not known.
        case nothing
    }

    enum Activity {
        /// An advertisement may say that a look is worth while.
        case listening
        /// A link is wanted, to measure on.
        case wanting
        case measuring(Measurement)
        case resting(until: Instant)
    }

    struct Measurement {
        let began: Instant
        var nextSample: Instant
        var level = SmoothedLevel()
        var lastSample: Instant?
        var nearSince: Instant?
        var farSince: Instant?
    }

    /// Who changes them has it stand at the door: no stay goes on under others.
    var rules: ProximityRules
    package private(set) var proximity: Proximity
    /// Near is presumed, so that nothing opens: no signal has been near since.
    private var isPresumed: Bool
    private(set) var activity = Activity.listening
    /// Off, it listens to nothing and wants nothing.
    var isEnabled: Bool { didSet { if !isEnabled { activity = .listening } } }
    private var advertised = SmoothedLevel()
    /// Since when advertisements have been weak.
    private var weakSince: Instant?
    private var lastHeard: Instant
    private var restMilliseconds = Self.restMinimumMilliseconds
    private var budget: MeasurementBudget
    /// Since an absence was shown; nil while near.
    private var watch: AbsenceWatch?
    /// When openings were asked for. A launch counts as all but one, so that no number of them makes room for more.
    private var openings: [Instant]
    /// What the last link ended with, while away.
    private var lastSeen: SmoothedLevel?

    /// `isPresumed`: near, as an absence is not watched any more. `kept`: the watch over an absence that goes on.
    package init(
        _ proximity: Proximity, isPresumed: Bool = false, isEnabled: Bool, now: Instant, kept: Instant? = nil,
        rules: ProximityRules = ProximityRules()
    ) {
        self.rules = rules
        self.proximity = proximity
        self.isPresumed = isPresumed
        self.isEnabled = isEnabled
        lastHeard = now
        budget = MeasurementBudget(now: now)
        if proximity == .away { watch = AbsenceWatch(since: now, kept: kept) }
        openings = Array(repeating: now, count: Self.openingsMaximum - 1)
    }

    /// A link is wanted, or is being measured on.
    package var wantsLink: Bool {
        switch activity {
        case .wanting, .measuring: true
        case .listening, .resting: false
        }
    }

    /// The key stands at the door: it has just been enrolled there, its user has just commanded the lock, or nothing was
    /// watched until now.
    mutating func standsAtDoor(now: Instant) {
        forgetAbsence()
        activity = .listening
        lastHeard = now
    }

    // MARK: The watch

    package enum Look: Equatable, Sendable {
        case unbroken
        /// And the disk is to have that.
        case toBeKept
        /// What was away may be at the door now: nobody has seen it come.
        case broken
    }

    /// Looks at the clock, whatever has happened.
    package mutating func look(now: Instant) -> Look {
        guard isEnabled, var watching = watch else { return .unbroken }
        guard watching.look(now: now) else {
            forgetAbsence()
            return .broken
        }
        defer { watch = watching }
        return watching.takesKeeping(now: now) ? .toBeKept : .unbroken
    }

    /// The radio has gone, or is back.
    mutating func hears(_ isHearing: Bool, now: Instant) { watch?.hears(isHearing, now: now) }

    /// An absence counts no more; a link shows the next one. Where no signal shows the key near before that, it was away all the time.
    private mutating func forgetAbsence() {
        proximity = .near
        isPresumed = true
        watch = nil
        weakSince = nil
    }

    // MARK: Advertisements

    /// Anybody may send one. It wakes, no more.
    package mutating func heard(_ rssi: Int8, now: Instant) {
        guard isEnabled else { return }
        guard rssi != Self.unavailable else {
            // How near its lock is a controller that knows no strength never tells. That it is there, it does.
            if proximity == .away, case .listening = activity { want(now: now) }
            return
        }
        if now.milliseconds(since: lastHeard) >= Self.silenceMilliseconds {
            restMilliseconds = Self.restMinimumMilliseconds
            advertised = SmoothedLevel()
        }
        lastHeard = now
        advertised.add(rssi)
        guard proximity == .near else {
            if case .listening = activity, advertised.isAtLeast(rules.nearDBm) { want(now: now) }
            return
        }
        if advertised.isAtLeast(rules.nearDBm) { isPresumed = false }
        guard advertised.isAtMost(rules.awayDBm) else { return weakSince = nil }
        let since = weakSince ?? now
        weakSince = since
        if case .listening = activity, now.milliseconds(since: since) >= Self.dwellMilliseconds { want(now: now) }
    }

    private mutating func want(now: Instant) {
        // Where no advertisement makes it look, nobody but itself spends these.
        let isOwn = !rules.hearsAdvertisements && proximity == .away
        if isOwn || budget.take(now: now) { activity = .wanting }
    }

    // MARK: A link

    /// The lock has encrypted a link that is there to measure on.
    package mutating func linkProven(now: Instant) {
        guard case .wanting = activity else { return }
        activity = .measuring(Measurement(began: now, nextSample: now))
    }

    /// Whether the link's RSSI is to be read now.
    package mutating func takesSample(now: Instant) -> Bool {
        guard case .measuring(var measurement) = activity, measurement.nextSample <= now else { return false }
        measurement.nextSample = now.advanced(byMilliseconds: Self.samplingMilliseconds)
        activity = .measuring(measurement)
        return true
    }

    /// The RSSI of the link that is measured on; a finding ends the measurement.
    package mutating func measured(_ rssi: Int8, now: Instant) -> Finding? {
        guard case .measuring(var measurement) = activity, rssi != Self.unavailable else { return nil }
        if let last = measurement.lastSample, now.milliseconds(since: last) > Self.samplingGapMaximumMilliseconds {
            (measurement.nearSince, measurement.farSince) = (nil, nil)
        }
        measurement.lastSample = now
        measurement.level.add(rssi)
        measurement.nearSince = measurement.level.isAtLeast(rules.nearDBm) ? measurement.nearSince ?? now : nil
        measurement.farSince = measurement.level.isAtMost(rules.awayDBm) ? measurement.farSince ?? now : nil
        activity = .measuring(measurement)
        if measurement.nearSince != nil { isPresumed = false }
        func hasStayed(_ since: Instant?) -> Bool {
            since.map { now.milliseconds(since: $0) >= Self.dwellMilliseconds } ?? false
        }
        if hasStayed(measurement.nearSince) { return end(showing: .near, now: now) }
        if hasStayed(measurement.farSince) { return end(showing: .away, now: now) }
        return nil
    }

    private mutating func end(showing shown: Proximity, now: Instant) -> Finding {
        defer { rest(now: now) }
        guard shown != proximity else { return .nothing }
        proximity = shown
        watch = shown == .away ? AbsenceWatch(since: now) : nil
        weakSince = nil
        restMilliseconds = Self.restMinimumMilliseconds
        return shown == .near ? .came : isPresumed ? .stayedAway : .left
    }

    /// The link has ended, or the wish for one has.
    package mutating func linkEnded(now: Instant) { if wantsLink { rest(now: now) } }

    private mutating func rest(now: Instant) {
        if comesCloser() { restMilliseconds = Self.restMinimumMilliseconds }
        let isDeaf = !rules.hearsAdvertisements && proximity == .away
        let longest = isDeaf ? Self.deafRestMaximumMilliseconds : Self.restMaximumMilliseconds
        activity = .resting(until: now.advanced(byMilliseconds: min(restMilliseconds, longest)))
        restMilliseconds = min(2 * restMilliseconds, longest)
    }

    /// Whether the link that ends shows somebody on his way, where no advertisement tells that.
    private mutating func comesCloser() -> Bool {
        guard !rules.hearsAdvertisements, proximity == .away, case .measuring(let measurement) = activity else {
            lastSeen = nil
            return false
        }
        defer { lastSeen = measurement.level }
        return lastSeen.map { measurement.level.isAbove($0, byDB: Self.approachDB) } ?? true
    }

    /// Whether it may ask for an opening now.
    mutating func takesOpening(now: Instant) -> Bool {
        openings.removeAll { now.milliseconds(since: $0) >= Self.openingsWindowMilliseconds }
        guard openings.count < Self.openingsMaximum else { return false }
        openings.append(now)
        return true
    }

    // MARK: Time

    /// What the time has brought; a measurement that took too long has found nothing.
    package mutating func timerFired(now: Instant) -> Finding? {
        if case .resting(let until) = activity, until <= now { activity = .listening }
        if let silent, silent <= now { want(now: now) }
        guard case .measuring(let measurement) = activity, Self.end(of: measurement) <= now else { return nil }
        rest(now: now)
        return .nothing
    }

    package var deadline: Instant? {
        guard isEnabled else { return nil }
        let next: Instant? =
            switch activity {
            case .listening: silent
            case .wanting: nil
            case .measuring(let measurement): min(measurement.nextSample, Self.end(of: measurement))
            case .resting(let until): until
            }
        return .earliest(next, watch?.deadline)
    }

    /// When silence alone makes a link wanted. Where there is nothing but silence, that is at once while away.
    private var silent: Instant? {
        guard isEnabled, case .listening = activity else { return nil }
        if proximity == .away { return rules.hearsAdvertisements ? nil : lastHeard }
        return max(lastHeard.advanced(byMilliseconds: Self.silenceMilliseconds), budget.available)
    }

    private static func end(of measurement: Measurement) -> Instant {
        measurement.began.advanced(byMilliseconds: measurementMaximumMilliseconds)
    }
}

/// A noisy RSSI, smoothed.
package struct SmoothedLevel: Sendable {
    private static let scale = 256
    /// In 1/256 dBm; nil before the first sample.
    private var level: Int?

    package init() {}

    /// nil before the first sample.
    package var dBm: Double? { level.map { Double($0) / Double(Self.scale) } }

    package mutating func add(_ rssi: Int8) {
        let sample = Int(rssi) * Self.scale
        level = level.map { $0 + (sample - $0) / ProximityMachine.smoothing } ?? sample
    }

    func isAtLeast(_ dBm: Int8) -> Bool { level.map { $0 >= Int(dBm) * Self.scale } ?? false }
    func isAtMost(_ dBm: Int8) -> Bool { level.map { $0 <= Int(dBm) * Self.scale } ?? false }

    /// Rounded towards 0; nil before the first sample.
    var wholeDBm: Int? { level.map { $0 / Self.scale } }

    /// False where one of the two has no sample.
    func isAbove(_ other: Self, byDB: Int = 0) -> Bool {
        guard let level, let other = other.level else { return false }
        return level >= other + byDB * Self.scale
    }
}
