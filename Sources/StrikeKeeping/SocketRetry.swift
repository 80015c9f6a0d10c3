import BluetoothCore
import CommandInterface

/// When a socket that cannot be had is tried again, and what the operator hears of it.
///
/// A keeper that ended for want of a socket would be started anew, and request its line anew, as fast as the system goes: most chips let
/// the line go each time.
struct SocketRetry {
    static let pauseMinimumMilliseconds: UInt64 = 100
    static let pauseMaximumMilliseconds: UInt64 = 5_000

    /// nil where nothing is to be tried.
    private(set) var next: Instant?
    private var pauseMilliseconds = Self.pauseMinimumMilliseconds
    private var complaint: String?

    /// What the operator is told: each reason once in a row.
    mutating func failed(_ failure: Failure, now: Instant) -> String? {
        next = now.advanced(byMilliseconds: pauseMilliseconds)
        pauseMilliseconds = min(pauseMilliseconds * 2, Self.pauseMaximumMilliseconds)
        guard complaint != failure.message else { return nil }
        complaint = failure.message
        return "\(failure.message); it is tried again"
    }

    /// What the operator is told, where there was something to complain of.
    mutating func succeeded() -> String? {
        defer { self = Self() }
        return complaint == nil ? nil : "the socket is there"
    }
}
