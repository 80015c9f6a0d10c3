import BluetoothCore
import LockProtocol

/// The challenges of one connection: in memory only, at most two alive, and both dead as soon as either is answered.
struct ChallengeBook {
    static let liveMaximum = 2

    private struct Entry {
        var id: ChallengeID
        var issued: Instant
        var expires: Instant
    }

    /// Oldest first.
    private var live: [Entry] = []

    /// Puts a new challenge in force; of the earlier ones, only the last stays.
    mutating func issue(_ id: ChallengeID, now: Instant, lifeMilliseconds: UInt64) {
        #if LATCH_PLANTS
        let most = Plant.active == .stale ? 100 : Self.liveMaximum
        #else
        let most = Self.liveMaximum
        #endif
        live.removeFirst(max(0, live.count - (most - 1)))
        live.append(Entry(id: id, issued: now, expires: now.advanced(byMilliseconds: lifeMilliseconds)))
    }

    /// Whether a command that answers `id` comes in time. Whatever the answer, no challenge is left afterwards.
    mutating func use(_ id: ChallengeID, now: Instant) -> Bool {
        #if LATCH_PLANTS
        if Plant.active == .reuse { return live.contains { $0.id == id && now < $0.expires } }
        if Plant.active == .stale { return live.contains { $0.id == id } }
        #endif
        defer { live.removeAll(keepingCapacity: true) }
        return live.contains { $0.id == id && now < $0.expires }
    }

    /// When half of the newest one's life is over; the start of time when there is none.
    var renewalDue: Instant {
        guard let newest = live.last else { return Instant(nanoseconds: 0) }
        return newest.issued.advanced(byMilliseconds: newest.expires.milliseconds(since: newest.issued) / 2)
    }

    /// The newest one as the characteristic shows it.
    func value(now: Instant, flags: Challenge.Flags) -> Challenge? {
        guard let newest = live.last else { return nil }
        let life = newest.expires.milliseconds(since: now) / Challenge.lifeUnitMilliseconds
        return Challenge(id: newest.id, remainingLife: UInt8(clamping: life), flags: flags)
    }
}
