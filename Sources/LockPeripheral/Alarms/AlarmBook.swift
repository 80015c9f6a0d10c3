import BluetoothCore
import LockProtocol

/// The alarms since the lock's program began: how many of each kind, the last one that was told, and which one is told next.
///
/// Each kind has a meter of its own: who can raise alarms of one kind without end keeps nobody from hearing of another.
package struct AlarmBook: Hashable, Sendable {
    package private(set) var counts: [AlarmKind: UInt64] = [:]
    package private(set) var last: AlarmReport?
    private var meters: [AlarmKind: AuditMeter] = [:]
    /// The ``AlarmReport/number`` of the last report.
    package private(set) var reportCount: UInt64 = 0
    var debt = AlarmDebt()
    /// Its alarm has been raised, and it has not been trusted since.
    private var isClockDoubted = false

    package init() {}

    /// Counts an alarm. nil: this one is not told. One that is, and stands on a record, is owed from now on.
    mutating func take(_ alarm: Alarm, on record: UInt64?, now: Instant) -> AlarmReport? {
        guard let report = report(alarm, on: record, now: now) else { return nil }
        debt.owe(report, now: now)
        return report
    }

    /// What earlier programs have left owed, in its order. Where that is too much of a kind, one that is told says that there are more.
    mutating func takeOwed(now: Instant) -> [AlarmReport] {
        debt.unraised.compactMap { owed in
            let report = report(owed.alarm, on: owed.record, isLate: true, hasMore: owed.hasMore, now: now)
            debt.raised(owed, as: reportCount, now: now)
            return report
        }
    }

    private mutating func report(
        _ alarm: Alarm, on record: UInt64?, isLate: Bool = false, hasMore: Bool = false, now: Instant
    ) -> AlarmReport? {
        counts[alarm.kind, default: 0] += 1
        let verdict = meters[alarm.kind, default: AuditMeter()].count(now: now)
        guard verdict != .omit else { return nil }
        reportCount += 1
        let report = AlarmReport(
            alarm, on: record, hasMore: hasMore || verdict == .summarise, isLate: isLate, number: reportCount)
        last = report
        return report
    }

    /// Takes what is wrong with the clock now; true when that is an alarm.
    mutating func doubtClock(_ fault: ClockFault?) -> Bool {
        defer { isClockDoubted = fault != nil }
        return fault != nil && !isClockDoubted
    }

    package var count: UInt64 { counts.values.reduce(0, +) }

    /// On the air.
    package var value: AlarmValue {
        let kinds = counts.keys.filter { $0.rawValue <= 8 }.reduce(UInt8(0)) { $0 | 1 << ($1.rawValue - 1) }
        return AlarmValue(
            kind: last?.alarm.kind ?? AlarmKind(rawValue: 0), cause: last?.alarm.cause ?? 0,
            hasMore: last?.hasMore ?? false, record: last?.record ?? 0,
            credential: last?.alarm.credential?.rawValue ?? 0, count: UInt8(clamping: count), kinds: kinds)
    }
}
