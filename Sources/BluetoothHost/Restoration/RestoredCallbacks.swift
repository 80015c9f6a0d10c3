import BluetoothCore

/// Callbacks of apps that wait, behind a launch, until what it has restored is at work again: an app that hears of its scan, its
/// connections and its advertising finds them on the air.
///
/// - In: callbacks whose facts are on disk, instants, and whether everything that was restored is at work or cannot be.
/// - Out: the callbacks, in order.
/// - Owner: ``Host``. A life waits once, at its launch, if that has restored something for the air.
package struct RestoredCallbacks {
    /// A controller that is slower, or does not answer, does not keep an app from its own start.
    package static let waitMaximumMilliseconds: UInt64 = 1_000

    private var waiting: [() -> Void] = []
    /// When the first of them has waited for long enough.
    private(set) var deadline: Instant?
    /// Nothing waits any more, and nothing ever will.
    private(set) var isOver: Bool

    init(isAnythingRestored: Bool) { isOver = !isAnythingRestored }

    mutating func wait(_ callback: @escaping () -> Void, now: Instant) {
        if waiting.isEmpty { deadline = now.advanced(byMilliseconds: Self.waitMaximumMilliseconds) }
        waiting.append(callback)
    }

    /// All of them, once their wait is over; nil before that. What comes behind them does not wait.
    mutating func takeAll(isAtWork: Bool, now: Instant) -> [() -> Void]? {
        guard !isOver, isAtWork || (deadline.map { $0 <= now } ?? false) else { return nil }
        defer { self = Self(isAnythingRestored: false) }
        return waiting
    }
}
