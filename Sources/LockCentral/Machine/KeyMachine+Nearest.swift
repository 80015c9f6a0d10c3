import BluetoothCore
import LockProtocol

/// A command for the lock that is nearest: links with all of them, their RSSI, and then the one that is meant.
extension KeyMachine {
    /// Whether a lock is being looked at to find the nearest.
    func isSought(_ peer: PeerIdentifier) -> Bool { nearest?.locks.contains(peer) == true }

    /// One is looked for at a time.
    mutating func askNearest(
        _ operation: LockOperation, _ argument: RelockArgument, lifeMilliseconds: UInt64, _ turn: inout KeyTurn
    ) {
        guard nearest == nil else { return }
        nearest = NearestMachine(
            Set(locks.keys), for: operation, argument, lifeMilliseconds: lifeMilliseconds, now: turn.now)
        for peer in sortedPeers {
            locks[peer]?.linksInVain = 0
            locks[peer]?.connectAt = nil
            if locks[peer]?.link.open == nil { turn.act(.connect(peer)) } else { lookAtLink(peer, &turn) }
        }
        readSignals(&turn)
        settleNearest(&turn)
    }

    /// Nobody waits for it any more.
    mutating func cancelNearest(_ turn: inout KeyTurn) {
        guard let looking = nearest else { return }
        nearest = nil
        for peer in sortedPeers where looking.locks.contains(peer) { letGoIfIdle(peer, &turn) }
    }

    /// A link that carries no command has to prove itself before it counts.
    mutating func lookAtLink(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard isSought(peer), let slot = locks[peer] else { return }
        if case .clear = slot.link, slot.isIdle { encrypt(peer, &turn) }
    }

    mutating func readSignals(_ turn: inout KeyTurn) {
        let peers = provenSought
        guard !peers.isEmpty, nearest?.takesReading(now: turn.now) == true else { return }
        for peer in peers { read(peer, &turn) }
    }

    /// Those that are looked at and have proven themselves.
    private var provenSought: [PeerIdentifier] {
        sortedPeers.filter { isSought($0) && locks[$0]?.hasProvenLink == true }
    }

    var nearestDeadline: Instant? { nearest?.wakes(isConnected: !provenSought.isEmpty) }

    /// Asks the lock that is nearest, or nobody; what was connected to be looked at goes.
    mutating func settleNearest(_ turn: inout KeyTurn) {
        guard var looking = nearest else { return }
        let preferences = preferences
        let candidates = sortedPeers.filter { isSought($0) }.compactMap { peer in
            locks[peer].map {
                NearestMachine.Candidate(
                    peer: peer, isProven: $0.hasProvenLink, leftAt: $0.provenLinkEnded, signal: $0.signal,
                    preference: preferences[peer])
            }
        }
        let verdict = looking.verdict(of: candidates, now: turn.now)
        nearest = verdict == nil ? looking : nil
        guard let verdict else { return }
        turn.act(.sought(verdict))
        if let peer = verdict.peer {
            ask(
                peer, looking.operation, looking.argument, .user,
                lifeMilliseconds: looking.deadline.milliseconds(since: turn.now), &turn)
        }
        for candidate in candidates { letGoIfIdle(candidate.peer, &turn) }
    }
}

extension KeyMachine.LockSlot {
    fileprivate var hasProvenLink: Bool { link.isProven && link.open?.isLeaving == false }
}
