import BluetoothCore
import BluetoothHost
import LockProtocol

/// What the key needs kept. LockPersistence implements it on SQLite, and the tests in memory.
package protocol KeyStore: CommitParticipant {
    func load() throws -> KeySnapshot
    /// Takes a fact for the commit at the end of this iteration.
    func append(_ mutation: KeyMutation)
}

/// A lock that this key was enrolled at, by the name its manager knows it under.
package struct LockRecord: Hashable, Sendable {
    package static let nameOctetsMaximum = 64

    package var peer: PeerIdentifier
    package var name: String
    /// Unlock on coming near, lock on leaving.
    package var unlocksWhenNear: Bool
    package var locksWhenLeaving: Bool

    /// Whether anything depends on how near the key is.
    package var isWatched: Bool { unlocksWhenNear || locksWhenLeaving }

    /// As much of a name as is kept, cut between two characters.
    package static func cut(_ name: String, octets most: Int = nameOctetsMaximum) -> String {
        var octets = Array(name.utf8.prefix(most))
        while String(validating: octets, as: UTF8.self) == nil { octets.removeLast() }
        return String(decoding: octets, as: UTF8.self)
    }

    package init(
        peer: PeerIdentifier, name: String, unlocksWhenNear: Bool = false, locksWhenLeaving: Bool = false
    ) {
        self.peer = peer
        self.name = name
        self.unlocksWhenNear = unlocksWhenNear
        self.locksWhenLeaving = locksWhenLeaving
    }
}

/// Names a request for good, so that whoever asked can be told once what became of it.
package struct KeyRequestID: Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Something asked of a lock and not yet answered by it. On disk before anything is sent.
package struct KeyRequest: Hashable, Sendable {
    /// Kept by its number.
    package enum Origin: UInt8, Sendable { case user = 1, proximity = 2 }

    package var id: KeyRequestID
    package var operation: LockOperation
    package var argument: RelockArgument
    package var origin: Origin
    /// Nothing is sent in another boot, or after the deadline: a door never opens later than it was meant to.
    package var boot: BootID
    package var deadline: Instant
    /// The challenge that the command answered, once it may have been sent; nil before. From here on the lock is asked what
    /// became of it, and it is never sent again.
    package var sent: ChallengeID?

    package init(
        id: KeyRequestID, operation: LockOperation, argument: RelockArgument, origin: Origin, boot: BootID,
        deadline: Instant, sent: ChallengeID? = nil
    ) {
        self.id = id
        self.operation = operation
        self.argument = argument
        self.origin = origin
        self.boot = boot
        self.deadline = deadline
        self.sent = sent
    }
}

/// Whether the key was last at the door or away from it, as a link with the lock has shown. A lock that was never left is
/// near. Kept by its number.
package enum Proximity: UInt8, Sendable { case away = 1, near = 2 }

/// Everything kept of one lock.
package struct KnownLock: Hashable, Sendable {
    package var record: LockRecord
    package var request: KeyRequest?
    /// The greatest lock counter taken; nil before the first. 0 is a counter like any other.
    package var receiptCounter: UInt32?
    package var proximity: Proximity
    /// Of an absence; nil before the first.
    package var watched: WatchMark?
    /// Its own, which come before the configuration's; nil before it is calibrated.
    package var thresholds: ProximityThresholds?
    package var note: LockNote?

    package init(
        record: LockRecord, request: KeyRequest? = nil, receiptCounter: UInt32? = nil, proximity: Proximity = .near,
        watched: WatchMark? = nil, thresholds: ProximityThresholds? = nil, note: LockNote? = nil
    ) {
        self.record = record
        self.request = request
        self.receiptCounter = receiptCounter
        self.proximity = proximity
        self.watched = watched
        self.thresholds = thresholds
        self.note = note
    }
}

/// One durable fact: the new truth, not a difference. All but `lock` are of a lock that is known.
package enum KeyMutation: Hashable, Sendable {
    case lock(LockRecord)
    case lockForgotten(PeerIdentifier)
    /// nil once it is answered, expired or given up.
    case request(PeerIdentifier, KeyRequest?)
    case receiptCounter(PeerIdentifier, UInt32)
    /// A new bond: its lock's counters begin anew.
    case receiptCounterReset(PeerIdentifier)
    case proximity(PeerIdentifier, Proximity)
    /// The key is away, and has watched until now.
    case watched(PeerIdentifier, WatchMark)
    /// nil: the configuration's count again.
    case thresholds(PeerIdentifier, ProximityThresholds?)
    /// nil: there is none any more.
    case note(PeerIdentifier, LockNote?)
    /// These and no others, the one that comes first first.
    case preferred([PeerIdentifier])
    /// Request numbers below this are spent, or may be.
    case requestsReserved(below: UInt64)
}

/// Everything kept for the key, as read at launch.
package struct KeySnapshot: Hashable, Sendable {
    package var locks: [PeerIdentifier: KnownLock] = [:]
    /// Locks that come before the others, in their order.
    package var preferred: [PeerIdentifier] = []
    package var requestsReservedBelow: UInt64 = 1
    /// No key has ever made so many requests.
    package static let unreachedRequestNumber: UInt64 = 1 << 62

    package init() {}

    /// What a store that took `mutation` loads.
    package mutating func apply(_ mutation: KeyMutation) {
        switch mutation {
        case .lock(let record):
            if locks[record.peer] == nil {
                locks[record.peer] = KnownLock(record: record)
            } else {
                locks[record.peer]?.record = record
            }
        case .lockForgotten(let peer):
            locks[peer] = nil
            preferred.removeAll { $0 == peer }
        case .request(let peer, let request): locks[peer]?.request = request
        case .receiptCounter(let peer, let counter): locks[peer]?.receiptCounter = counter
        case .receiptCounterReset(let peer): locks[peer]?.receiptCounter = nil
        case .proximity(let peer, let proximity): locks[peer]?.proximity = proximity
        case .watched(let peer, let mark): locks[peer]?.watched = mark
        case .thresholds(let peer, let thresholds): locks[peer]?.thresholds = thresholds
        case .note(let peer, let note): locks[peer]?.note = note
        case .preferred(let peers): preferred = peers.filter { locks[$0] != nil }
        case .requestsReserved(let below): requestsReservedBelow = below
        }
    }
}
