import BluetoothCore
import LockProtocol

/// The key: takes what happened, says what to keep and what to do. No clock, no randomness, no disk.
///
/// One request at a time for each lock. Once a command may have been sent it is never sent again: the lock is asked what
/// became of it, over encryption, and only a lock that has not taken it is asked anew.
package struct KeyMachine {
    /// No challenge within this: encrypt.
    package static let challengeWaitMilliseconds: UInt64 = 300
    /// No receipt within this: ask.
    package static let answerWaitMilliseconds: UInt64 = 1_500
    package static let statusWaitMilliseconds: UInt64 = 5_000
    package static let encryptionWaitMilliseconds: UInt64 = 10_000
    /// How long a link is kept for the end of what was accepted.
    package static let outcomeWaitMilliseconds: UInt64 = 4_000
    /// How long a request that proximity made is good for.
    package static let proximityLifeMilliseconds: UInt64 = 10_000
    /// How often one request may be answered by "that challenge is dead" before it is given up.
    package static let attemptsMaximum = 3
    package static let requestBlock: UInt64 = 64

    let boot: BootID
    var locks: [PeerIdentifier: LockSlot] = [:]
    private var nextRequest: UInt64
    private var requestsReservedBelow: UInt64

    struct LockSlot {
        var record: LockRecord
        var request: KeyRequest?
        var receiptCounter: UInt32?
        var filter: ProximityFilter
        var link = KeyLink.none
        var attempts = 0
    }

    /// Takes up where the last process was cut off.
    package init(restoring snapshot: KeySnapshot, boot: BootID, now: Instant, into outputs: inout [KeyOutput]) {
        self.boot = boot
        nextRequest = snapshot.requestsReservedBelow
        requestsReservedBelow = snapshot.requestsReservedBelow
        for (peer, known) in snapshot.locks {
            locks[peer] = LockSlot(
                record: known.record, request: known.request, receiptCounter: known.receiptCounter,
                filter: ProximityFilter(known.proximity))
        }
        var turn = KeyTurn(now)
        for peer in sortedPeers where locks[peer]?.request != nil {
            expireIfLate(peer, &turn)
            if locks[peer]?.request != nil { turn.act(.connect(peer)) }
        }
        turn.flush(into: &outputs)
    }

    package mutating func handle(_ input: KeyInput, now: Instant, into outputs: inout [KeyOutput]) {
        var turn = KeyTurn(now)
        switch input {
        case .ask(let peer, let operation, let argument, let life):
            ask(peer, operation, argument, .user, lifeMilliseconds: life, &turn)
        case .cancel(let peer): cancel(peer, &turn)
        case .lock(let record): take(record, &turn)
        case .forget(let peer): forget(peer, &turn)
        case .bonded(let peer):
            guard locks[peer] != nil else { return }
            locks[peer]?.receiptCounter = nil
            turn.persist(.receiptCounterReset(peer))
        case .connected(let peer, let path): connected(peer, path, &turn)
        case .disconnected(let peer): disconnected(peer, &turn)
        case .encrypted(let peer): encrypted(peer, &turn)
        case .encryptionFailed(let peer): encryptionFailed(peer, &turn)
        case .challenge(let peer, let octets): challenge(peer, octets, &turn)
        case .receipt(let peer, let octets): receipt(peer, octets, &turn)
        case .lockState(let peer, let octets): lockState(peer, octets, &turn)
        case .controlPoint(let peer, let octets): controlPoint(peer, octets, &turn)
        case .rssi(let peer, let rssi):
            if let change = locks[peer]?.filter.sample(rssi, now: now) { moved(peer, change, &turn) }
        case .timerFired: timerFired(&turn)
        }
        turn.flush(into: &outputs)
    }

    /// When it wants ``KeyInput/timerFired``.
    package var deadline: Instant? {
        locks.values.lazy.flatMap { slot in
            [
                slot.link.deadline, slot.filter.deadline,
                slot.request.flatMap { $0.sent == nil ? $0.deadline : nil },
            ].compactMap { $0 }
        }.min()
    }

    var sortedPeers: [PeerIdentifier] { locks.keys.sorted { $0.bits < $1.bits } }

    private mutating func take(_ record: LockRecord, _ turn: inout KeyTurn) {
        if locks[record.peer] == nil {
            locks[record.peer] = LockSlot(record: record, filter: ProximityFilter(.away))
        } else {
            locks[record.peer]?.record = record
        }
        turn.persist(.lock(record))
    }

    private mutating func forget(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let slot = locks[peer] else { return }
        if let request = slot.request { end(peer, request, request.sent == nil ? .cancelled : .unknown, &turn) }
        if slot.link.open != nil { turn.act(.disconnect(peer)) }
        locks[peer] = nil
        turn.persist(.lockForgotten(peer))
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
