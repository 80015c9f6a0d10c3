import BluetoothCore

/// What the judges of a door that a strike holds believe: what its metal has seen, the orders that passed, the alarms that were told, and
/// when a program could not be expected to do anything.
struct DoorEvidence {
    let record: DoorRecord
    let fit: DoorFit
    /// Of the lock's process.
    let absences: [Stretch]
    /// Nothing was wrong with the metal, and with what its sensors say.
    let isSound: Bool
    let end: Instant

    /// A launch, a commit and a movement, and what a program waits for.
    static let promptMilliseconds: UInt64 = 3_000

    /// Of lock, keeper and chip.
    var allAbsences: [Stretch] { absences + record.absences.all }

    func wasAway(_ begin: Instant, _ end: Instant) -> Bool { allAbsences.contains { $0.meets(begin, end) } }

    /// When a program that was there has done what it had to do from an instant on.
    func prompt(_ instant: Instant) -> Instant { instant.advanced(byMilliseconds: Self.promptMilliseconds) }
}
