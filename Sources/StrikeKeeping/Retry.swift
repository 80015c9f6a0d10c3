import BluetoothCore
import CommandInterface

/// When what the system does not give at present is tried again, and what the operator hears of it.
///
/// A keeper that ended for want of it would be started anew, and request its line anew, as fast as the system goes: most chips let the line
/// go each time.
struct Retry {
    static let pauseMaximumMilliseconds: UInt64 = 5_000
    static let pause = DoublingWait(firstMilliseconds: 100, longestMilliseconds: pauseMaximumMilliseconds)

    /// nil where nothing is to be tried.
    private(set) var next: Instant?
    private var failures: UInt64 = 0
    private var complaint: String?

    /// What the operator is told: each reason once in a row.
    mutating func failed(_ failure: Failure, now: Instant) -> String? {
        failures += 1
        next = now.advanced(byMilliseconds: Self.pause.milliseconds(failures: failures))
        guard complaint != failure.message else { return nil }
        complaint = failure.message
        return "\(failure.message); it is tried again"
    }

    /// `news`, for the operator, where there was something to complain of.
    mutating func succeeded(_ news: String) -> String? {
        defer { self = Self() }
        return complaint == nil ? nil : news
    }
}
