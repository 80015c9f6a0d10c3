import BluetoothCore

/// A level that counts once it has stood still for a while: for contacts that bounce, at drivers that do not debounce.
///
/// What a line reads comes in, with whether an edge has been seen since the last time; whether the level that counts has changed goes out.
package struct Debouncer: Equatable, Sendable {
    package let milliseconds: UInt64
    /// What counts.
    package private(set) var isActive: Bool
    /// Since when the line reads otherwise.
    private var otherwise: Instant?

    package init(milliseconds: UInt64, isActive: Bool) {
        self.milliseconds = milliseconds
        self.isActive = isActive
    }

    /// When the line is to be read again.
    package var deadline: Instant? { otherwise?.advanced(byMilliseconds: milliseconds) }

    /// `hasMoved`: whatever it reads now, it has not stood still.
    package mutating func handle(_ reads: Bool, hasMoved: Bool, now: Instant) -> Bool {
        guard reads != isActive else {
            otherwise = nil
            return false
        }
        if hasMoved || otherwise == nil { otherwise = now }
        guard let deadline, now >= deadline else { return false }
        isActive = reads
        otherwise = nil
        return true
    }
}
