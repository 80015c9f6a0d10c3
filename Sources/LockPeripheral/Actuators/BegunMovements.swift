import BluetoothCore

/// What a bolt that does not remember has begun to do, by its journal: so that an opening begins once, whoever is killed.
///
/// An opening is on disk before it begins, and one that stands there never begins again: behind a restart nobody knows how it
/// ended, and it counts as perhaps made. A lock is made again, and is made though it cannot be written down: securing twice is
/// securing.
package struct BegunMovements {
    package enum Verdict: Equatable {
        case begin
        case report(ActuatorReport)
    }

    private let journal: any MovementJournal

    package init(_ journal: any MovementJournal) { self.journal = journal }

    /// `order` may be begun once this returns, unless the time that it took has made it too late.
    ///
    /// - Throws: The journal's failure: an opening cannot be written down.
    package func admit(_ order: ActuatorOrder, now: Instant) throws -> Verdict {
        guard !order.movement.isSecuring else {
            try? journal.append(order, now: now)
            return .begin
        }
        if journal.lastIntended?.answers(order) == true { return .report(.ended(order.intent, .unknown)) }
        if let notAfter = order.notAfter, now > notAfter { return .report(.declined(order.intent)) }
        try journal.append(order, now: now)
        try journal.settle()
        return .begin
    }

    /// Brings onto the medium what an earlier process wrote, since it is believed from here on. Without an intent nothing rests
    /// on it, and a full disk must not keep a bolt from being read and secured.
    package func settle(asking intent: Intent?) throws {
        do { try journal.settle() } catch { if intent != nil { throw error } }
    }

    /// `reading`, and what is known of the movement that is asked about.
    package func complete(_ reading: BoltReading, asking intent: Intent?) -> BoltReading {
        var reading = reading
        reading.isUnrecorded = journal.last?.isIntended == false
        guard let intent else { return reading }
        reading.mayHaveBegun =
            journal.lastIntended?.answers(ActuatorOrder(intent)) ?? false || !journal.isLastIntendedKnown
        reading.performed = reading.mayHaveBegun ? nil : false
        return reading
    }
}
