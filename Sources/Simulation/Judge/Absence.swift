import BluetoothCore

/// When a lock, or the keeper of its strike, could not be expected to do anything.
package struct Absence {
    package enum Reason: Hashable {
        case dead, suspended, slow
        /// Of a strike: there is no keeper, no chip, no call that succeeds, no line that does and says what it was told.
        case keeper, chip, calls, line
    }

    package let from: Instant
    package fileprivate(set) var to: Instant?

    func meets(_ begin: Instant, _ end: Instant) -> Bool { from <= end && (to.map { $0 >= begin } ?? true) }
}

/// The absences of one schedule, whatever reasons overlap.
struct Absences {
    private(set) var all: [Absence] = []
    private var reasons: Set<Absence.Reason> = []

    mutating func begin(_ reason: Absence.Reason, at instant: Instant) {
        if reasons.isEmpty { all.append(Absence(from: instant, to: nil)) }
        reasons.insert(reason)
    }

    mutating func end(_ reason: Absence.Reason, at instant: Instant) {
        guard reasons.remove(reason) != nil, reasons.isEmpty, !all.isEmpty else { return }
        all[all.count - 1].to = instant
    }

    /// What is over is forgotten.
    mutating func forget() { all.removeAll { $0.to != nil } }
}
