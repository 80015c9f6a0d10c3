import BluetoothCore

/// When a lock, or the keeper of its strike, could not be expected to do anything, whatever reasons overlap.
struct Absences {
    enum Reason: Hashable {
        case dead, suspended, slow
        /// What can be missing at a strike: its keeper, its chip, a call that succeeds, a line that does and says what it was told.
        case keeper, chip, calls, line
    }

    private var stretches = Stretches()
    private var reasons: Set<Reason> = []

    var all: [Stretch] { stretches.all }

    mutating func begin(_ reason: Reason, at instant: Instant) {
        reasons.insert(reason)
        stretches.turn(true, at: instant)
    }

    mutating func end(_ reason: Reason, at instant: Instant) {
        reasons.remove(reason)
        stretches.turn(!reasons.isEmpty, at: instant)
    }

    mutating func forget() { stretches.forget() }
}
