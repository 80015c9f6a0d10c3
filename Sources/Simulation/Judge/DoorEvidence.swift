import BluetoothCore
import BluetoothHost
import LockPeripheral
import StrikeKeeping

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
    /// When commands came to the lock.
    var commands: [Instant] = []
    var mayBeInPassage: (Instant, Instant) -> Bool = { _, _ in false }

    /// A launch, a commit and a movement, and what a program waits for.
    static let promptMilliseconds: UInt64 = 3_000

    /// Of lock, keeper and chip.
    var allAbsences: [Stretch] { absences + record.absences.all }

    func wasAway(_ begin: Instant, _ end: Instant) -> Bool { allAbsences.contains { $0.meets(begin, end) } }

    /// What lock, keeper and chip need at most, once they are all there, until the lock has told how it finds its door: the keeper reads its
    /// line, finds the chip and believes a contact; the lock finds the keeper, hears from it, and has its service restored.
    static let returnMilliseconds =
        StrikeKeeper.readingMilliseconds + StrikeKeeper.openingMilliseconds
        + UInt64(StrikeSettings().debounceMilliseconds) + StrikeBolt.searchMilliseconds
        + StrikeBolt.arrivalMaximumMilliseconds + RestoredCallbacks.waitMaximumMilliseconds

    /// Until when all have been there for that long since an instant: at once, or behind the first of these absences after which they
    /// were; nil while they were not.
    func settled(behind instant: Instant, _ absences: [Stretch]) -> Instant? {
        let begins = [instant] + absences.compactMap(\.to).filter { $0 > instant }.sorted()
        return begins.map { ($0, $0.advanced(byMilliseconds: Self.returnMilliseconds)) }.first { begin, due in
            due <= end && !absences.contains { $0.meets(begin, due) && $0.to != begin }
        }?.1
    }

    /// When a program that was there has done what it had to do from an instant on.
    func prompt(_ instant: Instant) -> Instant { instant.advanced(byMilliseconds: Self.promptMilliseconds) }
}
