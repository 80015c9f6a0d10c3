import BluetoothCore

/// The readings of one lock's link while its user walks. In: the lock's proven link and its end, RSSI, time. Out: whether a reading is
/// due, and why there are no more. ``KeyMachine`` owns one for each lock that is calibrated, and holds the lock's
/// ``ProximityMachine`` still meanwhile: a walk to and fro opens nothing.
package struct CalibrationSession {
    /// No link that the lock has encrypted for so long: the lock is not here.
    package static let linkWaitMaximumMilliseconds: UInt64 = 20_000
    /// A link, and no reading that says anything, for so long: nobody knows how strong it is.
    package static let readingWaitMaximumMilliseconds: UInt64 = 5_000
    /// A walk takes a minute. Behind this the key watches again, also for a user who has forgotten the walk.
    package static let maximumMilliseconds: UInt64 = 300_000

    private enum Link {
        case awaited(since: Instant)
        case measured(nextSample: Instant, lastReading: Instant)
    }

    private let began: Instant
    private var link: Link

    init(now: Instant) { (began, link) = (now, .awaited(since: now)) }

    var isLinked: Bool {
        switch link {
        case .awaited: false
        case .measured: true
        }
    }

    /// The lock has encrypted a link. Whether that is news.
    mutating func linkProven(now: Instant) -> Bool {
        guard !isLinked else { return false }
        link = .measured(nextSample: now, lastReading: now)
        return true
    }

    /// Whether that is news.
    mutating func linkEnded(now: Instant) -> Bool {
        guard isLinked else { return false }
        link = .awaited(since: now)
        return true
    }

    /// Whether the link's RSSI is to be read now.
    mutating func takesSample(now: Instant) -> Bool {
        guard case .measured(let next, let last) = link, next <= now else { return false }
        link = .measured(
            nextSample: now.advanced(byMilliseconds: ProximityMachine.samplingMilliseconds), lastReading: last)
        return true
    }

    /// What was read; nil where it says nothing. When, in milliseconds from the beginning on.
    mutating func reading(_ rssi: Int8, now: Instant) -> UInt64? {
        guard case .measured(let next, _) = link, rssi != ProximityMachine.unavailable else { return nil }
        link = .measured(nextSample: next, lastReading: now)
        return now.milliseconds(since: began)
    }

    /// Why it is over by now; nil while it is not.
    func end(now: Instant) -> CalibrationEnd? { now < limit.until ? nil : limit.end }

    var deadline: Instant {
        switch link {
        case .awaited: limit.until
        case .measured(let next, _): min(next, limit.until)
        }
    }

    private var limit: (until: Instant, end: CalibrationEnd) {
        let whole = (began.advanced(byMilliseconds: Self.maximumMilliseconds), CalibrationEnd.tooLong)
        let waited =
            switch link {
            case .awaited(let since):
                (since.advanced(byMilliseconds: Self.linkWaitMaximumMilliseconds), CalibrationEnd.notConnected)
            case .measured(_, let last):
                (last.advanced(byMilliseconds: Self.readingWaitMaximumMilliseconds), CalibrationEnd.noRSSI)
            }
        return waited.0 < whole.0 ? waited : whole
    }
}

/// What there is to tell of a walk.
package enum CalibrationReport: Hashable, Sendable {
    /// The lock itself is at the other end of a link.
    case linked
    /// In dBm, so many milliseconds behind the beginning.
    case reading(Int8, milliseconds: UInt64)
    /// The link has ended. Another one is asked for.
    case linkLost
    /// And nothing comes behind it.
    case ended(CalibrationEnd)
}

/// Why a walk is over that its user has not ended.
package enum CalibrationEnd: Hashable, Sendable {
    /// No link that the lock has encrypted, in time.
    case notConnected
    /// Nobody says how strong the link is.
    case noRSSI
    case tooLong
    /// A command, or a walk, is under way at this lock.
    case busy
    case forgotten
}
