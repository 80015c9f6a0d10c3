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

    /// What becomes of the challenge that a command answers.
    enum Use: Equatable {
        /// There is no such challenge, its life is over, or the sender's bound is.
        case dead
        /// `until`: when the sender's bound ends, if it set one.
        case live(until: Instant?)

        var isLive: Bool { self != .dead }
        var bound: Instant? { if case .live(let until) = self { until } else { nil } }
    }

    /// Whether a command that answers `id` comes in time, by the challenge's life and by its sender's bound. Whatever the answer,
    /// no challenge is left afterwards.
    mutating func use(_ id: ChallengeID, _ bound: CommandBound, now: Instant) -> Use {
        #if LATCH_PLANTS
        if Plant.active == .reuse { return look(id, bound, now) }
        if Plant.active == .stale { return live.contains { $0.id == id } ? .live(until: nil) : .dead }
        #endif
        defer { live.removeAll(keepingCapacity: true) }
        return look(id, bound, now)
    }

    /// No command that answers this one is in time any more.
    mutating func end(_ id: ChallengeID) { live.removeAll { $0.id == id } }

    private func look(_ id: ChallengeID, _ bound: CommandBound, _ now: Instant) -> Use {
        guard let entry = live.first(where: { $0.id == id }), now < entry.expires else { return .dead }
        #if LATCH_PLANTS
        if Plant.active == .unbounded { return .live(until: nil) }
        #endif
        guard let milliseconds = bound.milliseconds else { return .live(until: nil) }
        let until = entry.issued.advanced(byMilliseconds: milliseconds)
        return now <= until ? .live(until: until) : .dead
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
