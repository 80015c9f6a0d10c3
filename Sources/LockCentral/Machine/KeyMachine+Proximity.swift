import BluetoothCore
import LockProtocol

/// Links to measure on, and what comes of them.
extension KeyMachine {
    /// An advertisement, from whomever.
    mutating func heard(_ peer: PeerIdentifier, _ rssi: Int8, _ turn: inout KeyTurn) {
        locks[peer]?.nearness.heard(rssi, now: turn.now)
        connectToMeasure(peer, &turn)
    }

    /// Whether anything of this lock needs a link.
    package func wantsLink(_ peer: PeerIdentifier) -> Bool {
        guard let slot = locks[peer] else { return false }
        return slot.request != nil || slot.nearness.wantsLink
    }

    /// Asked for once: a pending connection outlives what made it wanted.
    private mutating func connectToMeasure(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let slot = locks[peer], slot.nearness.wantsLink, !slot.isLinkAskedToMeasure, slot.request == nil,
            slot.link.open == nil
        else { return }
        locks[peer]?.isLinkAskedToMeasure = true
        turn.act(.connect(peer))
    }

    /// A link that nobody asked for anything is there to measure on: it has to prove itself first.
    mutating func beginToMeasure(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let slot = locks[peer], slot.request == nil, slot.nearness.wantsLink else { return }
        switch slot.link {
        case .clear: encrypt(peer, &turn)
        case .proven, .encrypted:
            locks[peer]?.nearness.linkProven(now: turn.now)
            sample(peer, &turn)
        case .none, .encrypting: break
        }
    }

    private mutating func sample(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        if locks[peer]?.nearness.takesSample(now: turn.now) == true { turn.act(.readRSSI(peer)) }
    }

    mutating func measured(_ peer: PeerIdentifier, _ rssi: Int8, _ turn: inout KeyTurn) {
        guard let slot = locks[peer], slot.link.isProven else { return }
        if let finding = locks[peer]?.nearness.measured(rssi, now: turn.now) { found(peer, finding, &turn) }
    }

    /// What a request of proximity asks goes out on the link that has shown it.
    private mutating func found(_ peer: PeerIdentifier, _ finding: ProximityMachine.Finding, _ turn: inout KeyTurn) {
        guard let slot = locks[peer] else { return }
        switch finding {
        case .came:
            turn.persist(.proximity(peer, .near))
            if slot.record.unlocksWhenNear, locks[peer]?.nearness.takesOpening(now: turn.now) == true {
                askOfProximity(peer, .unlock, &turn)
            }
        case .left:
            turn.persist(.proximity(peer, .away))
            if slot.record.locksWhenLeaving { askOfProximity(peer, .lock, &turn) }
        case .nothing: break
        }
        if locks[peer]?.request == nil { letGo(peer, &turn) }
    }

    private mutating func askOfProximity(
        _ peer: PeerIdentifier, _ operation: LockOperation, _ turn: inout KeyTurn
    ) {
        // Somebody has asked for something already.
        guard locks[peer]?.request == nil else { return }
        ask(peer, operation, .setting, .proximity, lifeMilliseconds: Self.proximityLifeMilliseconds, &turn)
    }

    mutating func proximityTimerFired(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        if let finding = locks[peer]?.nearness.timerFired(now: turn.now) { found(peer, finding, &turn) }
        sample(peer, &turn)
        connectToMeasure(peer, &turn)
    }

    mutating func standsAtDoor(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        locks[peer]?.nearness.standsAtDoor()
        turn.persist(.proximity(peer, .near))
    }
}
