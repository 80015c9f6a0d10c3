/// The latest time that the audit has: what the wall clock must not be behind of. A clock that was reset (an empty battery, somebody
/// with access to it) would otherwise make an expired credential valid again.
///
/// In: what the clock says. Out: what a rule may go by, and what a record is stamped with. It is durable with each audit record, and
/// costs no write of its own.
package struct WallClockMark: Hashable, Sendable {
    /// A clock that is set by a time server goes back a little now and then.
    package static let backwardsMaximumSeconds: Int64 = 60

    package private(set) var seconds: Int64?

    package init(seconds: Int64?) { self.seconds = seconds }

    /// Nil while the clock is unset or behind the mark: nothing that depends on the time of day is granted.
    package func trusted(_ clock: Int64?) -> Int64? {
        guard let clock else { return nil }
        guard let seconds, clock < seconds else { return clock }
        return clock >= seconds - Self.backwardsMaximumSeconds ? seconds : nil
    }

    /// Why the clock is not trusted that was trusted once; nil while it is, and where there never was one.
    func fault(_ clock: Int64?) -> ClockFault? {
        guard seconds != nil, trusted(clock) == nil else { return nil }
        return clock == nil ? .unset : .behind
    }

    /// A record's time: no earlier than that of the record before.
    package mutating func stamp(_ clock: Int64?) -> Int64? {
        if let clock { seconds = max(seconds ?? clock, clock) }
        return seconds
    }
}
