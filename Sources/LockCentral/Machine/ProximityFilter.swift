import BluetoothCore

/// Makes "near" and "away" of a noisy RSSI: smoothed, with a gap between the two thresholds, and only after it has said
/// the same for a while. It decides when to ask, never what is allowed.
struct ProximityFilter {
    static let nearDBm = -62
    static let awayDBm = -78
    static let dwellMilliseconds: UInt64 = 1_500
    /// Nothing heard for this long is away.
    static let silenceMilliseconds: UInt64 = 20_000
    /// How much of the smoothed value each sample replaces: one part in this many.
    static let smoothing = 4
    /// The controller does not know.
    ///
    /// Core 5.4, Vol 4, Part E, 7.7.65.2 (LE Advertising Report event)
    static let unavailable: Int8 = 127

    private static let scale = 256

    private(set) var proximity: Proximity
    /// Smoothed, in 1/256 dBm; nil before the first sample.
    private var level: Int?
    /// Since when the level has contradicted `proximity`.
    private var contradictedSince: Instant?
    private var lastHeard: Instant?

    init(_ proximity: Proximity) { self.proximity = proximity }

    /// The new proximity, if this sample changes it.
    mutating func sample(_ rssi: Int8, now: Instant) -> Proximity? {
        guard rssi != Self.unavailable else { return nil }
        lastHeard = now
        let sample = Int(rssi) * Self.scale
        let smoothed = level.map { $0 + (sample - $0) / Self.smoothing } ?? sample
        level = smoothed
        let contradicts =
            switch proximity {
            case .away: smoothed >= Self.nearDBm * Self.scale
            case .near: smoothed <= Self.awayDBm * Self.scale
            }
        guard contradicts else {
            contradictedSince = nil
            return nil
        }
        let since = contradictedSince ?? now
        contradictedSince = since
        return now.milliseconds(since: since) >= Self.dwellMilliseconds ? turn() : nil
    }

    /// The new proximity, if it has been silent for too long.
    mutating func timerFired(now: Instant) -> Proximity? {
        guard let deadline, now >= deadline else { return nil }
        level = nil
        return turn()
    }

    /// nil while away: silence changes nothing then. Silence counts from the first sample in this process.
    var deadline: Instant? {
        proximity == .near ? lastHeard?.advanced(byMilliseconds: Self.silenceMilliseconds) : nil
    }

    private mutating func turn() -> Proximity {
        contradictedSince = nil
        proximity = proximity == .near ? .away : .near
        return proximity
    }
}
