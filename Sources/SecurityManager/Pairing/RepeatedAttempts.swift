import BluetoothCore

/// How long a device whose pairing failed has to wait before it may try again: twice as long after each failure, and
/// half as long again for each quiet spell. Instants come in; nothing is kept over a restart.
///
/// A claimant is whom an address names or resolves to, so that a peer does not start over with each private address.
/// Who takes a new address for each attempt is not slowed by this: a fresh passkey for each attempt, and a window that
/// closes after three failures, are what holds against guessing.
///
/// Core 5.4, Vol 3, Part H, 2.3.6 (Repeated attempts)
package struct RepeatedAttempts {
    package static let firstIntervalMilliseconds: UInt64 = 1_000
    /// A little over an hour.
    package static let lastIntervalMilliseconds: UInt64 = 4_096_000
    /// Without a failure for this long after its wait, a claimant's interval is halved.
    package static let quietMilliseconds: UInt64 = 300_000
    /// Claimants remembered at once. The one whose wait ended first makes room for the next.
    package static let claimantsMaximum = 64

    private struct Record {
        var intervalMilliseconds: UInt64
        var waitsUntil: Instant
    }

    private var records: [DeviceAddress: Record] = [:]

    package init() {}

    package var count: Int { records.count }

    /// When `claimant` may try again; nil for now.
    package func waits(_ claimant: DeviceAddress, at now: Instant) -> Instant? {
        guard let record = records[claimant], now < record.waitsUntil else { return nil }
        return record.waitsUntil
    }

    package mutating func failed(_ claimant: DeviceAddress, at now: Instant) {
        var interval = Self.firstIntervalMilliseconds
        if let record = records[claimant] {
            let standing = Self.decayed(record, at: now)
            if standing > 0 { interval = min(standing * 2, Self.lastIntervalMilliseconds) }
        } else {
            makeRoom(now)
        }
        records[claimant] = Record(
            intervalMilliseconds: interval, waitsUntil: now.advanced(byMilliseconds: interval))
    }

    /// An operator asks for attempts. Each claimant's interval is the first one again, and nobody waits longer than that.
    package mutating func startOver(at now: Instant) {
        let until = now.advanced(byMilliseconds: Self.firstIntervalMilliseconds)
        records = records.mapValues {
            Record(
                intervalMilliseconds: Self.firstIntervalMilliseconds, waitsUntil: min($0.waitsUntil, until))
        }
    }

    package mutating func succeeded(_ claimant: DeviceAddress) { records[claimant] = nil }

    /// The interval after the quiet spells since its wait ended; 0 when nothing is left of it.
    private static func decayed(_ record: Record, at now: Instant) -> UInt64 {
        guard now > record.waitsUntil else { return record.intervalMilliseconds }
        let quiet = (now.nanoseconds - record.waitsUntil.nanoseconds) / (quietMilliseconds * 1_000_000)
        let interval = quiet < 64 ? record.intervalMilliseconds >> quiet : 0
        return interval < firstIntervalMilliseconds ? 0 : interval
    }

    private mutating func makeRoom(_ now: Instant) {
        guard records.count >= Self.claimantsMaximum else { return }
        for (claimant, record) in records where Self.decayed(record, at: now) == 0 { records[claimant] = nil }
        guard records.count >= Self.claimantsMaximum else { return }
        let first = records.min { ($0.value.waitsUntil, $0.key.bits) < ($1.value.waitsUntil, $1.key.bits) }
        if let first { records[first.key] = nil }
    }
}
