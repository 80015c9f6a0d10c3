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
        return slot.needsLink || slot.nearness.wantsLink || isSought(peer)
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
        guard let slot = locks[peer], slot.request == nil, slot.nearness.wantsLink || slot.calibration != nil else {
            return
        }
        switch slot.link {
        case .clear: encrypt(peer, &turn)
        case .proven(let open, _), .encrypted(let open):
            guard !open.isLeaving else { return }
            guard slot.calibration == nil else { return calibrationLinkProven(peer, &turn) }
            locks[peer]?.nearness.linkProven(now: turn.now)
            sample(peer, &turn)
        case .none, .encrypting: break
        }
    }

    private mutating func sample(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        if locks[peer]?.nearness.takesSample(now: turn.now) == true { read(peer, &turn) }
    }

    /// One question for a link's strength is out at a time. All who want to know share its answer.
    mutating func read(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        if locks[peer]?.signal.takesQuestion(now: turn.now) == true { turn.act(.readRSSI(peer)) }
    }

    mutating func measured(_ peer: PeerIdentifier, _ rssi: Int8, _ turn: inout KeyTurn) {
        guard let slot = locks[peer], slot.link.open?.isLeaving == false, locks[peer]?.signal.take(rssi) == true,
            slot.link.isProven
        else { return }
        guard slot.calibration == nil else { return calibrationRead(peer, rssi, &turn) }
        settleNearest(&turn)
        if let finding = locks[peer]?.nearness.measured(rssi, now: turn.now) { found(peer, finding, &turn) }
    }

    /// What a request of proximity asks goes out on the link that has shown it.
    private mutating func found(_ peer: PeerIdentifier, _ finding: ProximityMachine.Finding, _ turn: inout KeyTurn) {
        guard let slot = locks[peer] else { return }
        switch finding {
        case .came: came(peer, &turn)
        case .left:
            absent(peer, &turn)
            if slot.record.locksWhenLeaving, slot.isIdle { askOfProximity(peer, .lock, &turn) }
        case .stayedAway: absent(peer, &turn)
        case .nothing: break
        }
        letGoIfIdle(peer, &turn)
    }

    private mutating func absent(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        endApproach(peer, &turn)
        turn.persist(.proximity(peer, .away))
        keepWatch(peer, &turn)
    }

    mutating func askOfProximity(
        _ peer: PeerIdentifier, _ operation: LockOperation, _ turn: inout KeyTurn
    ) {
        ask(peer, operation, .setting, .proximity, lifeMilliseconds: Self.proximityLifeMilliseconds, &turn)
    }

    mutating func proximityTimerFired(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        if let finding = locks[peer]?.nearness.timerFired(now: turn.now) { found(peer, finding, &turn) }
        endLateApproach(peer, &turn)
        sample(peer, &turn)
        connectToMeasure(peer, &turn)
    }

    mutating func standsAtDoor(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        endApproach(peer, &turn)
        locks[peer]?.nearness.standsAtDoor(now: turn.now)
        turn.persist(.proximity(peer, .near))
        letGoIfIdle(peer, &turn)
    }

    /// A user's command that the lock has answered, or may have taken, in its time: its user is there. An absence from before
    /// it does not open the door again behind his back.
    mutating func commanded(_ peer: PeerIdentifier, by request: KeyRequest, _ turn: inout KeyTurn) {
        guard request.origin == .user, request.boot == boot, locks[peer]?.nearness.proximity == .away,
            turn.now <= request.deadline.advanced(byMilliseconds: Self.settleMilliseconds)
        else { return }
        standsAtDoor(peer, &turn)
    }

    // MARK: The watch

    /// Before anything else: how long it is since the clock was looked at says what an absence is worth.
    mutating func look(_ turn: inout KeyTurn) {
        for peer in sortedPeers {
            switch locks[peer]?.nearness.look(now: turn.now) {
            case .broken: turn.persist(.proximity(peer, .near))
            case .toBeKept: keepWatch(peer, &turn)
            case .unbroken, nil: break
            }
        }
    }

    /// Without a radio nobody is seen to come.
    mutating func radio(isOn: Bool, now: Instant) {
        for peer in sortedPeers { locks[peer]?.nearness.hears(isOn, now: now) }
    }

    private func keepWatch(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        turn.persist(.watched(peer, WatchMark(boot: boot, until: turn.now)))
    }
}
