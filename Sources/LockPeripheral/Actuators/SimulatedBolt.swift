import BluetoothCore
import LockProtocol

/// Where a simulated bolt's movements are written. ``BoltJournal`` keeps them in a file.
///
/// A movement that has begun survives the process; one that is said to have ended survives the machine. What lies between
/// is metal that the power left somewhere on its way, which a lost line puts back to where it came from. So the lock's own
/// commit is the only flush between a command and its receipt.
package protocol MovementJournal: AnyObject {
    var last: BoltJournal.Line? { get }
    /// The last one that an intent ordered: all but ``ActuatorOrder/unrecordedLock``.
    var lastIntended: BoltJournal.Line? { get }
    /// Whether ``last`` and ``lastIntended`` are what they say, or nobody knows, because a line cannot be read.
    var isLastKnown: Bool { get }
    var isLastIntendedKnown: Bool { get }
    /// The bolt begins to move: no kill of this process undoes it.
    func append(_ order: ActuatorOrder, now: Instant) throws
    /// Returns once everything that is written there is on disk, by whichever process: only then has a movement ended.
    func settle() throws
}

/// A bolt without a motor. Its journal stands for the metal: what is written there has moved, and is read back at launch
/// as a lock reads its sensor. It takes its time, and nothing stops it on its way, a kill least of all.
package final class SimulatedBolt: Actuator {
    package static let usualTravelMilliseconds: UInt64 = 500

    private let journal: any MovementJournal
    private let travelMilliseconds: UInt64
    private var underWay: (order: BoltJournal.Line, arrival: Instant)?

    package init(journal: any MovementJournal, travelMilliseconds: UInt64 = usualTravelMilliseconds) {
        self.journal = journal
        self.travelMilliseconds = travelMilliseconds
    }

    package func reading(asking intent: Intent?, now: Instant) throws -> BoltReading {
        // What an earlier process wrote and did not live to flush is taken for moved from here on, so it has to be on disk.
        // Without an intent nothing rests on it: a movement is flushed before its outcome is written. A full disk must
        // not keep such a bolt from being read and secured; the journal stays owed to the next flush.
        do { try journal.settle() } catch { if intent != nil { throw error } }
        underWay = nil
        // Boot time starts over: a line from the future was written before the machine came up, and is over.
        if let last = journal.last, now >= last.at {
            let arrival = last.at.advanced(byMilliseconds: travelMilliseconds)
            if now < arrival { underWay = (last, arrival) }
        }
        let performed = intent.flatMap { asked -> Bool? in
            let isLast = journal.lastIntended.map { $0.answers(ActuatorOrder(asked)) } ?? false
            return isLast || journal.isLastIntendedKnown ? isLast : nil
        }
        return BoltReading(
            position: underWay == nil ? restingPosition : .unknown, door: .closed, moving: underWay?.order.intent,
            performed: performed, isUnrecorded: journal.last?.isIntended == false)
    }

    package func perform(_ order: ActuatorOrder, now: Instant) throws -> ActuatorReport? {
        #if LATCH_PLANTS
        let mayRepeat = Plant.active == .duplicate
        #else
        let mayRepeat = false
        #endif
        if let last = journal.last, last.answers(order), !mayRepeat {
            return underWay == nil ? .ended(order.intent, restingPosition) : nil
        }
        if let notAfter = order.notAfter, now > notAfter { return .declined(order.intent) }
        try journal.append(order, now: now)
        guard let line = journal.last else { return nil }
        underWay = (line, now.advanced(byMilliseconds: travelMilliseconds))
        return try poll(now: now)
    }

    package var deadline: Instant? { underWay?.arrival }

    package func poll(now: Instant) throws -> ActuatorReport? {
        guard let (line, arrival) = underWay, now >= arrival else { return nil }
        try journal.settle()
        underWay = nil
        // Nobody waits for the end of what an earlier process did without a record: the bolt is found there.
        return line.isIntended ? .ended(line.intent, line.movement.target) : .bolt(line.movement.target)
    }

    /// A bolt is delivered locked.
    private var restingPosition: BoltPosition {
        journal.isLastKnown ? journal.last?.movement.target ?? .locked : .unknown
    }
}
