import BluetoothCore

/// How many links may be made to measure on, whatever makes the key look: a bucket that holds so many, and gets another one
/// every so often. Who comes and goes finds it full. Who plays advertisements empties it, and then has one in a while.
struct MeasurementBudget {
    /// In any hour, with those at once.
    static let linksPerHourMaximum = 60
    /// Ten comings and goings, one soon after the other.
    static let burstMaximum = 20
    /// For each further one.
    static let refillMilliseconds = 3_600_000 / UInt64(linksPerHourMaximum - burstMaximum)

    /// When the bucket is full again.
    private var full: Instant
    /// Before this it holds none.
    private(set) var available: Instant

    init(now: Instant) { (full, available) = (now, now) }

    /// Takes one, if there is one.
    mutating func take(now: Instant) -> Bool {
        guard now >= available else { return false }
        full = max(full, now).advanced(byMilliseconds: Self.refillMilliseconds)
        let missing = full.milliseconds(since: now)
        let tolerated = UInt64(Self.burstMaximum - 1) * Self.refillMilliseconds
        if missing > tolerated { available = now.advanced(byMilliseconds: missing - tolerated) }
        return true
    }
}
