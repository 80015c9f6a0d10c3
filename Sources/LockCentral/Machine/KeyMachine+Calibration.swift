import BluetoothCore

/// A walk by which a lock gets thresholds of its own, and the thresholds.
extension KeyMachine {
    /// An absence from before the walk counts no more: the user walks to and fro now, and that opens nothing.
    mutating func calibrate(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let slot = locks[peer] else { return turn.act(.calibration(peer, .ended(.forgotten))) }
        guard slot.isIdle, slot.calibration == nil else { return turn.act(.calibration(peer, .ended(.busy))) }
        locks[peer]?.calibration = CalibrationSession(now: turn.now)
        locks[peer]?.linksInVain = 0
        standStill(peer, &turn)
        if slot.link.open == nil { turn.act(.connect(peer)) } else { beginToMeasure(peer, &turn) }
    }

    /// Its user has seen enough, or went away.
    mutating func endCalibration(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard locks[peer]?.calibration != nil else { return }
        locks[peer]?.calibration = nil
        standStill(peer, &turn)
    }

    /// An absence that the former thresholds have shown counts no more.
    mutating func take(_ thresholds: ProximityThresholds?, of peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard locks[peer] != nil else { return }
        turn.persist(.thresholds(peer, thresholds))
        locks[peer]?.thresholds = thresholds
        locks[peer]?.nearness.rules = rules.with(thresholds)
        standsAtDoor(peer, &turn)
    }

    private mutating func standStill(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let slot = locks[peer] else { return }
        locks[peer]?.nearness.isEnabled = slot.watches
        standsAtDoor(peer, &turn)
    }

    // MARK: Its link

    mutating func calibrationLinkProven(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        if locks[peer]?.calibration?.linkProven(now: turn.now) == true { turn.act(.calibration(peer, .linked)) }
        sampleCalibration(peer, &turn)
    }

    mutating func calibrationLinkEnded(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        if locks[peer]?.calibration?.linkEnded(now: turn.now) == true { turn.act(.calibration(peer, .linkLost)) }
    }

    mutating func calibrationRead(_ peer: PeerIdentifier, _ rssi: Int8, _ turn: inout KeyTurn) {
        guard let milliseconds = locks[peer]?.calibration?.reading(rssi, now: turn.now) else { return }
        turn.act(.calibration(peer, .reading(rssi, milliseconds: milliseconds)))
    }

    private mutating func sampleCalibration(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        if locks[peer]?.calibration?.takesSample(now: turn.now) == true { read(peer, &turn) }
    }

    mutating func calibrationTimerFired(_ peer: PeerIdentifier, _ turn: inout KeyTurn) {
        guard let calibration = locks[peer]?.calibration else { return }
        guard let end = calibration.end(now: turn.now) else { return sampleCalibration(peer, &turn) }
        endCalibration(peer, &turn)
        turn.act(.calibration(peer, .ended(end)))
    }
}
