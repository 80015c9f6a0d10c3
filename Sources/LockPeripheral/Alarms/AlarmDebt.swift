import BluetoothCore
import LockProtocol

/// The alarms on record that have not been told: from the commit of their record until they have been handed over to the log, to the hook
/// and to the links. Whoever is killed between the two leaves them to the next program, which tells them late: **at least once**.
///
/// In: alarms as they are raised, what an earlier program has left, and how far the shell has told. Out: what the store keeps, with the
/// commit of the record, and once more when something of it has been told: with the next commit that is made anyway, or with one of its own
/// after ``reviewMilliseconds``. No command waits for that.
struct AlarmDebt: Hashable, Sendable {
    /// As many as a program tells in a minute. One more, and the last of them says that there are more.
    static let alarmsOfKindMaximum = 6
    /// A lock that has nothing else to write takes back then what it has told. Who kills it before hears that again.
    static let reviewMilliseconds: UInt64 = 5_000

    private struct Entry: Hashable {
        var owed: OwedAlarm
        /// Of its report, or of the one that says that there are more; nil until this program has raised it.
        var number: UInt64?
    }

    private var entries: [Entry] = []
    private var toldThrough: UInt64 = 0
    /// The store does not know of the last one.
    private var isNews = false
    /// When something may have been told, and nothing was written since.
    private(set) var review: Instant?

    private func isTold(_ entry: Entry) -> Bool { entry.number.map { $0 <= toldThrough } ?? false }

    /// What is kept. What this program has raised already, before its daemon was there, is known.
    mutating func find(_ kept: [OwedAlarm]) {
        for owed in kept where !entries.contains(where: { $0.owed.isSame(as: owed) }) {
            entries.append(Entry(owed: owed))
        }
    }

    var unraised: [OwedAlarm] { entries.filter { $0.number == nil }.map(\.owed) }

    mutating func raised(_ owed: OwedAlarm, as number: UInt64, now: Instant) {
        guard let place = entries.firstIndex(where: { $0.owed.isSame(as: owed) }) else { return }
        entries[place].number = number
        reviewLater(now)
    }

    /// One that stands on no record is raised anew at each launch, for as long as it is so.
    mutating func owe(_ report: AlarmReport, now: Instant) {
        guard let record = report.record else { return }
        isNews = true
        entries.removeAll(where: isTold)
        let ofKind = entries.indices.filter { entries[$0].owed.alarm.kind == report.alarm.kind }
        if ofKind.count >= Self.alarmsOfKindMaximum, let last = ofKind.last {
            entries[last].owed.hasMore = true
            // The report that says so has to be told as well. What nobody has raised yet has a report to come.
            if entries[last].number != nil { entries[last].number = report.number }
        } else {
            let owed = OwedAlarm(report.alarm, on: record, hasMore: report.hasMore)
            entries.append(Entry(owed: owed, number: report.number))
        }
        reviewLater(now)
    }

    /// All reports up to this one have been told.
    mutating func told(through number: UInt64) { toldThrough = max(toldThrough, number) }

    /// The program ends in order.
    mutating func reviewAtOnce(_ now: Instant) { if review != nil { review = now } }

    private mutating func reviewLater(_ now: Instant) { review = now.advanced(byMilliseconds: Self.reviewMilliseconds) }

    /// At the end of a turn: what is owed from now on; nil where that need not be written. `isCommitting`: the turn has other facts.
    mutating func settle(at now: Instant, isCommitting: Bool) -> [OwedAlarm]? {
        let isDue = review.map { now >= $0 } ?? false
        let isWorthIt = isNews || (isCommitting || isDue) && entries.contains(where: isTold)
        if isWorthIt { entries.removeAll(where: isTold) }
        if isWorthIt || isDue { reviewLater(now) }
        if entries.isEmpty { review = nil }
        isNews = false
        return isWorthIt ? entries.map(\.owed) : nil
    }
}
