import BluetoothCore

/// The one-shot timers of the apps on this loop. They are few: a lock has a handful.
struct TimerTable {
    private var timers: [TimerToken: (at: Instant, fire: (Instant) -> Void)] = [:]
    private var next = 1

    mutating func makeToken() -> TimerToken {
        defer { next += 1 }
        return TimerToken(rawValue: next)
    }

    mutating func set(_ token: TimerToken, at: Instant?, _ fire: @escaping (Instant) -> Void) {
        timers[token] = at.map { ($0, fire) }
    }

    var deadline: Instant? { timers.values.reduce(nil) { Instant.earliest($0, $1.at) } }

    /// Removes and returns what is due, the earliest first.
    mutating func takeDue(_ now: Instant) -> [(Instant) -> Void] {
        let due = timers.filter { $0.value.at <= now }.sorted {
            ($0.value.at, $0.key.rawValue) < ($1.value.at, $1.key.rawValue)
        }
        for (token, _) in due { timers[token] = nil }
        return due.map(\.value.fire)
    }
}
