import BluetoothCore
import LockProtocol

/// The key: decides when to connect, what to sign, and what became of a request.
///
/// In: ``KeyInput``: links, challenges, receipts, answers, time, the user. Out: ``KeyOutput``s: what to do,
/// and before it the facts to keep. No clock, no randomness, no disk; ``KeyDaemon`` owns it.
///
/// One request at a time for each lock. Once a command may have been sent it is never sent again: the lock is asked what
/// became of it, over encryption, and only a lock that has not taken it is asked anew.
///
/// A request ends by the lock's own word, sealed or encrypted, by its user's, or by its time. Whatever comes over a link that
/// nobody has proven costs that link and no more: the next one is made, until the time is over.
package struct KeyMachine {
    /// No challenge within this: encrypt.
    package static let challengeWaitMilliseconds: UInt64 = 300
    /// No receipt within this: ask.
    package static let answerWaitMilliseconds: UInt64 = 1_500
    package static let statusWaitMilliseconds: UInt64 = 5_000
    /// No encryption within this: whoever is there cannot prove to be the lock, and the next link is tried. Three exchanges
    /// of the link layer take a fifth of it.
    package static let encryptionWaitMilliseconds: UInt64 = 1_000
    /// How long the lock itself has for its tree and the subscriptions.
    package static let preparationWaitMilliseconds: UInt64 = 10_000
    /// How long a link is kept for the end of what was accepted.
    package static let outcomeWaitMilliseconds: UInt64 = 4_000
    /// How long a request that proximity made is good for.
    package static let proximityLifeMilliseconds: UInt64 = 10_000
    /// How often one request may be answered by "that challenge is dead" before it is given up. The last time is asked over
    /// encryption: in clear, somebody in between may have exchanged the challenges.
    package static let attemptsMaximum = 3
    /// How long behind its deadline a request waits for the word on what was sent. Then nobody knows.
    package static let settleMilliseconds: UInt64 = 3_000
    /// From one link that came to nothing to the next, at least.
    package static let attemptSpacingMilliseconds: UInt64 = 150
    /// So many links may come to nothing, one soon after the other. Each further one waits twice as long as the one before.
    package static let quickAttemptsMaximum = 64
    package static let attemptPauseMaximumMilliseconds: UInt64 = 60_000
    package static let attemptPause = DoublingWait(
        firstMilliseconds: 1_000, longestMilliseconds: attemptPauseMaximumMilliseconds)
    package static let requestBlock: UInt64 = 64

    let boot: BootID
    /// Of a lock that has no thresholds of its own.
    let rules: ProximityRules
    let policy: ApproachPolicy
    var locks: [PeerIdentifier: LockSlot] = [:]
    /// Known locks, the one that comes first first.
    var preferred: [PeerIdentifier] = []
    /// While somebody waits for the nearest lock.
    var nearest: NearestMachine?
    /// While somebody watches.
    var watch: SignalWatch?
    private var nextRequest: UInt64
    private var requestsReservedBelow: UInt64

    struct LockSlot {
        var record: LockRecord
        var request: KeyRequest?
        var receiptCounter: UInt32?
        var nearness: ProximityMachine
        var link = KeyLink.none
        /// Of this link.
        var signal = LinkSignal()
        /// When the last link on which the lock had proven itself ended, in this process's life.
        var provenLinkEnded: Instant?
        /// As the lock has said it, since this process began.
        var lastState: WatchedLock.State?
        var lastAnswer: WatchedLock.Answer?
        /// The request was sent with a counter, in this process.
        var isSentCounted = false
        var attempts = 0
        /// Links in a row, since somebody asked, on which nobody has proven to be the lock.
        var linksInVain = 0
        /// A link to measure on is asked for, and has not been made yet.
        var isLinkAskedToMeasure = false
        /// Its own; nil before it is calibrated.
        var thresholds: ProximityThresholds?
        var note: LockNote?
        /// Its user walks, to calibrate it.
        var calibration: CalibrationSession?
        /// It has come near, and whether it asks for an opening is to be decided.
        var approach: Approach?
        /// When the next one is asked for.
        var connectAt: Instant?
        /// Until when it is asked what became of what was sent; nil while nobody waits for that.
        var settleBy: Instant?
    }

    /// Takes up where the last process was cut off.
    package init(
        restoring snapshot: KeySnapshot, boot: BootID, rules: ProximityRules = ProximityRules(),
        policy: ApproachPolicy = .immediate, now: Instant, into outputs: inout [KeyOutput]
    ) {
        (self.boot, self.rules, self.policy) = (boot, rules, policy)
        // A damaged file may say any number, and there is more to be added to it.
        nextRequest = min(snapshot.requestsReservedBelow, KeySnapshot.unreachedRequestNumber)
        requestsReservedBelow = nextRequest
        var turn = KeyTurn(now, random: 0)
        for (peer, known) in snapshot.locks {
            let isBroken = known.proximity == .away && !AbsenceWatch.outlasts(known.watched, boot: boot, now: now)
            locks[peer] = LockSlot(
                record: known.record, request: known.request, receiptCounter: known.receiptCounter,
                nearness: ProximityMachine(
                    isBroken ? .near : known.proximity, isPresumed: isBroken, isEnabled: known.record.isWatched,
                    now: now, kept: known.watched?.until, rules: rules.with(known.thresholds)),
                thresholds: known.thresholds, note: known.note)
            if isBroken { turn.persist(.proximity(peer, .near)) }
        }
        preferred = snapshot.preferred.filter { locks[$0] != nil }
        for peer in sortedPeers where locks[peer]?.request != nil {
            expireIfLate(peer, &turn)
            if locks[peer]?.request != nil { turn.act(.connect(peer)) }
        }
        turn.flush(into: &outputs)
    }

    /// One input. `random` is fresh from the CSPRNG for each; it becomes a question's number if one is due.
    package mutating func handle(
        _ input: KeyInput, now: Instant, random: UInt64, into outputs: inout [KeyOutput]
    ) {
        var turn = KeyTurn(now, random: random)
        look(&turn)
        switch input {
        case .ask(let peer, let operation, let argument, let life):
            ask(peer, operation, argument, .user, lifeMilliseconds: life, &turn)
        case .askNearest(let operation, let argument, let life):
            askNearest(operation, argument, lifeMilliseconds: life, &turn)
        case .cancelNearest: cancelNearest(&turn)
        case .cancel(let peer): cancel(peer, &turn)
        case .lock(let record): take(record, &turn)
        case .forget(let peer): forget(peer, &turn)
        case .bonded(let peer):
            guard let slot = locks[peer] else { return }
            // What the lock says to this bond from now on is nothing of what was sent under the one before.
            if let request = slot.request, request.sent != nil { end(peer, request, .unknown, &turn) }
            locks[peer]?.receiptCounter = nil
            turn.persist(.receiptCounterReset(peer))
            standsAtDoor(peer, &turn)
        case .connected(let peer, let path): connected(peer, path, &turn)
        case .disconnected(let peer): disconnected(peer, &turn)
        case .proven(let peer): proven(peer, &turn)
        case .encrypted(let peer, let programKey): encrypted(peer, programKey, &turn)
        case .encryptionFailed(let peer): encryptionFailed(peer, &turn)
        case .notWritten(let peer, let isLate): notWritten(peer, isLate: isLate, &turn)
        case .challenge(let peer, let octets): challenge(peer, octets, &turn)
        case .receipt(let peer, let octets): receipt(peer, octets, &turn)
        case .lockState(let peer, let octets): lockState(peer, octets, &turn)
        case .controlPoint(let peer, let octets): controlPoint(peer, octets, &turn)
        case .rssi(let peer, let rssi): heard(peer, rssi, &turn)
        case .linkRSSI(let peer, let rssi): measured(peer, rssi, &turn)
        case .calibrate(let peer): calibrate(peer, &turn)
        case .endCalibration(let peer): endCalibration(peer, &turn)
        case .thresholds(let peer, let thresholds): take(thresholds, of: peer, &turn)
        case .note(let peer, let note): take(note, of: peer, &turn)
        case .prefer(let peer, let isPreferred): prefer(peer, isPreferred, &turn)
        case .decided(let approach, let opens): decided(approach, opens: opens, &turn)
        case .radio(let isOn): radio(isOn: isOn, now: now)
        case .watched(let isWatched): watched(isWatched, &turn)
        case .timerFired: timerFired(&turn)
        }
        turn.flush(into: &outputs)
    }

    /// When it wants ``KeyInput/timerFired``.
    package var deadline: Instant? {
        let ofLocks = locks.values.lazy.flatMap { slot in
            [
                slot.link.deadline, slot.nearness.deadline, slot.connectAt, slot.requestDeadline, slot.approach?.until,
                slot.calibration?.deadline,
            ].compactMap { $0 }
        }.min()
        return .earliest(.earliest(ofLocks, nearestDeadline), watchDeadline)
    }

    /// The name, or, where another lock has it, with the least number behind it that none has.
    package func freeName(like wanted: String) -> String {
        let taken = Set(locks.values.map(\.record.name))
        let name = LockRecord.cut(wanted)
        guard taken.contains(name) else { return name }
        func numbered(_ number: Int) -> String {
            LockRecord.cut(wanted, octets: LockRecord.nameOctetsMaximum - "\(number)".utf8.count - 1) + " \(number)"
        }
        var number = 2
        while taken.contains(numbered(number)) { number += 1 }
        return numbered(number)
    }

    private mutating func take(_ record: LockRecord, _ turn: inout KeyTurn) {
        turn.persist(.lock(record))
        guard let known = locks[record.peer] else {
            // A key is enrolled at the door.
            locks[record.peer] = LockSlot(
                record: record,
                nearness: ProximityMachine(.near, isEnabled: record.isWatched, now: turn.now, rules: rules))
            return
        }
        locks[record.peer]?.record = record
        locks[record.peer]?.nearness.isEnabled = record.isWatched && known.calibration == nil
        // A value from before anybody watched says nothing.
        if record.isWatched, !known.record.isWatched { standsAtDoor(record.peer, &turn) }
        if !record.isWatched {
            endApproach(record.peer, &turn)
            letGoIfIdle(record.peer, &turn)
        }
    }

    private mutating func forget(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let slot = locks[peer] else { return }
        endApproach(peer, &turn)
        if let request = slot.request { end(peer, request, request.sent == nil ? .cancelled : .unknown, &turn) }
        if slot.link.open != nil { turn.act(.disconnect(peer)) }
        if slot.calibration != nil { turn.act(.calibration(peer, .ended(.forgotten))) }
        locks[peer] = nil
        preferred.removeAll { $0 == peer }
        turn.persist(.lockForgotten(peer))
        nearest?.forgot(peer)
        settleNearest(&turn)
    }

    /// Numbers come from durable blocks: a kill skips some and never repeats one.
    mutating func takeRequestID(_ turn: inout KeyTurn) -> KeyRequestID {
        if nextRequest >= requestsReservedBelow {
            requestsReservedBelow = nextRequest + Self.requestBlock
            turn.persist(.requestsReserved(below: requestsReservedBelow))
        }
        defer { nextRequest += 1 }
        return KeyRequestID(rawValue: nextRequest)
    }
}
