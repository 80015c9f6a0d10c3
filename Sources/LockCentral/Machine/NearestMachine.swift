import BluetoothCore
import LockProtocol

/// Which lock the key is nearest to, of those that it is connected with: for somebody who stands at a door and names none.
///
/// - In: what is known of each lock's link, as ``Candidate``s; time.
/// - Out: when the links' RSSI is to be read, and one ``Verdict``.
/// - Owner: ``KeyMachine``, from the asking to the verdict.
///
/// Only a link that the lock has encrypted counts: anybody may answer in a lock's name, and be strong. RSSI is no distance. Of two locks
/// that are nearly as strong the weaker may be the nearer one. The one that its user prefers is opened then, and without such a one nothing.
/// Preference never goes before a signal that tells them apart.
package struct NearestMachine {
    /// For so long others may come, once one lock has.
    static let lookMilliseconds: UInt64 = 3_000
    /// Where the first lock comes late, others have so long from then on.
    static let settleMilliseconds: UInt64 = 1_000
    /// A verdict comes no later, and no later than half of the time that the command has.
    static let lookMaximumMilliseconds: UInt64 = 6_000
    /// Where the key has had a link with a lock for so long or less before, the lock is in reach: it is waited for to the last. A host that
    /// other programs use too may take seconds to end one link and make the next one.
    static let recentMilliseconds: UInt64 = 10_000
    /// Between two readings of a link's RSSI.
    static let readingMilliseconds: UInt64 = 100
    /// So many answers to a reading make a link known, whether they had a value or not.
    static let readingsMinimum = 5
    /// The nearest lock is so much stronger than each other one. Less than that is the noise of somebody who stands still.
    static let marginDB = 6

    package enum Verdict: Hashable, Sendable {
        case found(PeerIdentifier)
        /// Others are about as near, and of them all this one comes first by its user's word.
        case preferred(PeerIdentifier)
        /// No lock has proven itself.
        case none
        /// These are nearly as strong as the first of them, which is the strongest, and none is preferred.
        case several([PeerIdentifier])
        /// These are connected, and the RSSI of none of them is known.
        case unmeasured([PeerIdentifier])

        /// Which lock is asked.
        var peer: PeerIdentifier? {
            switch self {
            case .found(let peer), .preferred(let peer): peer
            case .none, .several, .unmeasured: nil
            }
        }
    }

    /// One of the locks that are looked at.
    struct Candidate {
        var peer: PeerIdentifier
        /// The lock has encrypted its link.
        var isProven: Bool
        /// When its last proven link ended.
        var leftAt: Instant?
        var signal: LinkSignal
        /// Its place among the preferred locks, the first of which has the least; nil where it is not one of them.
        var preference: Int?

        /// It has come, and its signal has been read often enough.
        var isKnown: Bool { isProven && signal.answers >= readingsMinimum }
    }

    let operation: LockOperation
    let argument: RelockArgument
    /// When the time of the command is over.
    let deadline: Instant
    private let lookEnds: Instant
    private let latest: Instant
    /// When the first lock had proven itself.
    private var firstCame: Instant?
    private var nextReading: Instant
    /// A lock that was linked a moment ago is not known yet.
    private var isAnyMissing = false
    private(set) var locks: Set<PeerIdentifier>

    init(
        _ locks: Set<PeerIdentifier>, for operation: LockOperation, _ argument: RelockArgument,
        lifeMilliseconds: UInt64, now: Instant
    ) {
        (self.locks, self.operation, self.argument) = (locks, operation, argument)
        deadline = now.advanced(byMilliseconds: lifeMilliseconds)
        lookEnds = now.advanced(byMilliseconds: Self.lookMilliseconds)
        latest = now.advanced(byMilliseconds: min(Self.lookMaximumMilliseconds, lifeMilliseconds / 2))
        nextReading = now
    }

    /// It is no lock of this key's any more.
    mutating func forgot(_ peer: PeerIdentifier) { locks.remove(peer) }

    /// Whether the links' RSSI is to be read now.
    mutating func takesReading(now: Instant) -> Bool {
        guard nextReading <= now else { return false }
        nextReading = now.advanced(byMilliseconds: Self.readingMilliseconds)
        return true
    }

    /// When something is due. `isConnected`: with any of the locks; else there is nothing to read.
    func wakes(isConnected: Bool) -> Instant { isConnected ? min(nextReading, ends) : ends }

    private var ends: Instant {
        guard let firstCame, !isAnyMissing else { return latest }
        return min(max(lookEnds, firstCame.advanced(byMilliseconds: Self.settleMilliseconds)), latest)
    }

    /// nil while another lock may still show that it is nearer.
    mutating func verdict(of candidates: [Candidate], now: Instant) -> Verdict? {
        let connected = candidates.filter { $0.isProven }
        if !connected.isEmpty { firstCame = firstCame ?? now }
        isAnyMissing = candidates.contains { candidate in
            !candidate.isKnown
                && candidate.leftAt.map { now.milliseconds(since: $0) <= Self.recentMilliseconds } ?? false
        }
        // There is nothing to compare the only lock with.
        let isKnown =
            candidates.count == 1
            ? connected.count == 1
            : candidates.allSatisfy(\.isKnown)
        guard isKnown || now >= ends else { return nil }
        let measured = connected.filter { $0.signal.level.wholeDBm != nil }
            .sorted { a, b in
                let (isStronger, isWeaker) = (
                    a.signal.level.isAbove(b.signal.level), b.signal.level.isAbove(a.signal.level)
                )
                return isStronger != isWeaker ? isStronger : a.peer.bits < b.peer.bits
            }
        guard let first = measured.first else {
            return switch connected.count {
            case 0: Verdict.none
            case 1: .found(connected[0].peer)
            default: .unmeasured(connected.map(\.peer))
            }
        }
        let close = measured.filter { !first.signal.level.isAbove($0.signal.level, byDB: Self.marginDB) }
        guard close.count > 1 else { return .found(first.peer) }
        let preferred = close.filter { $0.preference != nil }
            .min { ($0.preference ?? .max) < ($1.preference ?? .max) }
        return preferred.map { .preferred($0.peer) } ?? .several(close.map(\.peer))
    }
}

/// How strong one link is, as far as anybody has asked. One question is out at a time: a host that is slow gives all that wait one
/// answer, and copies of one reading would pass for many.
struct LinkSignal {
    /// A question without an answer is lost by then. A host asks nothing for two seconds while it makes another link.
    static let answerWaitMilliseconds: UInt64 = 3_000

    private(set) var level = SmoothedLevel()
    /// How often it was said, or said not to be known.
    private(set) var answers = 0
    /// When what is to be answered was asked.
    private var asked: Instant?

    /// Whether it is to be asked now.
    mutating func takesQuestion(now: Instant) -> Bool {
        if let asked, now.milliseconds(since: asked) < Self.answerWaitMilliseconds { return false }
        asked = now
        return true
    }

    /// Whether anybody has asked for that.
    mutating func take(_ rssi: Int8) -> Bool {
        guard asked != nil else { return false }
        asked = nil
        answers = min(answers + 1, NearestMachine.readingsMinimum)
        if rssi != ProximityMachine.unavailable { level.add(rssi) }
        return true
    }
}
