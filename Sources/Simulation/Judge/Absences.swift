import BluetoothCore

/// When a lock, or the keeper of its strike, could not be expected to do anything, whatever reasons overlap.
struct Absences {
    enum Reason: Hashable {
        case dead, suspended, slow
        /// Of a strike: there is no keeper, no chip, no call that succeeds, no line that does and says what it was told.
        case keeper, chip, calls, line
    }

    private(set) var all: [Stretch] = []
    private var reasons: Set<Reason> = []

    mutating func begin(_ reason: Reason, at instant: Instant) {
        if reasons.isEmpty { all.append(Stretch(from: instant)) }
        reasons.insert(reason)
    }

    mutating func end(_ reason: Reason, at instant: Instant) {
        guard reasons.remove(reason) != nil, reasons.isEmpty, !all.isEmpty else { return }
        all[all.count - 1].to = instant
    }

    /// What is over is forgotten.
    mutating func forget() { all.removeAll { $0.to != nil } }
}
