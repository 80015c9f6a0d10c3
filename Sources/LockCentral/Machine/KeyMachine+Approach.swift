import BluetoothCore
import LockProtocol

/// A key that has come near, and who decides whether it opens.
extension KeyMachine {
    mutating func came(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        // Where somebody has asked for something already, that is what he wants.
        guard let slot = locks[peer], slot.record.unlocksWhenNear, slot.isIdle,
            locks[peer]?.nearness.takesOpening(now: turn.now) == true
        else { return turn.persist(.proximity(peer, .near)) }
        guard policy != .immediate else {
            turn.persist(.proximity(peer, .near))
            return askOfProximity(peer, .unlock, &turn)
        }
        let approach = Approach(
            peer: peer, until: turn.now.advanced(byMilliseconds: policy.decisionMilliseconds), policy: policy)
        locks[peer]?.approach = approach
        turn.act(.approached(approach))
    }

    /// Somebody has decided. What is over is decided no more.
    mutating func decided(_ approach: Approach, opens: Bool, _ turn: inout KeyTurn) {
        let peer = approach.peer
        guard locks[peer]?.approach == approach, turn.now < approach.until else { return }
        locks[peer]?.approach = nil
        turn.persist(.proximity(peer, .near))
        if opens, locks[peer]?.isIdle == true { askOfProximity(peer, .unlock, &turn) }
        letGoIfIdle(peer, &turn)
    }

    /// Nobody has to decide any more.
    mutating func endApproach(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let slot = locks[peer], let approach = slot.approach else { return }
        locks[peer]?.approach = nil
        if slot.nearness.proximity == .near { turn.persist(.proximity(peer, .near)) }
        turn.act(.approachEnded(approach))
    }

    mutating func endLateApproach(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let until = locks[peer]?.approach?.until, until <= turn.now else { return }
        endApproach(peer, &turn)
        letGoIfIdle(peer, &turn)
    }
}
