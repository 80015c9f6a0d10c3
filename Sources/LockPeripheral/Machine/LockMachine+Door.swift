import BluetoothCore
import LockProtocol

/// The door's contact, the button beside it, the fire input and the hours at which the door is for everybody. docs/DOOR.md
extension LockMachine {
    private func here(_ turn: LockTurn) -> BootDeadline { BootDeadline(boot: boot, at: turn.now) }

    // MARK: What holds it open

    /// A fire opens in every mode. Hours count in the normal one alone: who shuts the door means it.
    var holdNow: DoorHold? {
        if doorway.isFire { return .fire }
        return doorway.isPassage && settings.mode == .normal ? .schedule : nil
    }

    /// As the last turn has left it.
    package var hold: DoorHold? { doorway.hold }

    /// By which commands are judged: what holds the door open lets nobody lock it.
    var modeInEffect: LockMode { holdNow == nil ? settings.mode : .passage }

    /// At each input, before it counts: hours begin and end while nobody asks.
    mutating func watchHours(_ turn: inout LockTurn) {
        guard !doorway.rules.passage.isEmpty else { return }
        lookAtHours(turn)
        reviewHold(&turn)
    }

    /// Without a clock that can be trusted there are none.
    mutating func lookAtHours(_ turn: LockTurn) {
        let hours = doorway.rules.passage
        guard !hours.isEmpty else { return }
        let seconds = timeOfDay(turn.moment)
        doorway.isPassage = settings.calendar.verdict(.always, hours, wallClockSeconds: seconds) == .within
        let secondsLeft = 60 - Int((seconds ?? 0) % 60)
        doorway.hoursReview = turn.now.advanced(byMilliseconds: UInt64(secondsLeft) * 1_000)
    }

    /// Hours that are no more end at once, and those that are new begin.
    mutating func fit(_ rules: DoorRules, _ turn: inout LockTurn) {
        guard rules != doorway.rules else { return }
        doorway.rules = rules
        (doorway.isPassage, doorway.hoursReview) = (false, nil)
        lookAtHours(turn)
    }

    /// Behind each input: what it has changed of that is on record, and the bolt goes with it.
    ///
    /// From its beginning on, a hold leaves a relock that is due. It waits for the hold's end, whichever process sees that.
    mutating func reviewHold(_ turn: inout LockTurn) {
        let hold = holdNow
        if hold != doorway.hold {
            let wasHeld = doorway.hold != nil
            doorway.hold = hold
            turn.persist(.hold(hold))
            audit(.held(hold), &turn)
            // In its hours somebody may have locked the door, or the bolt have jammed. A fire opens all the same.
            if hold == .fire || hold != nil && !wasHeld { doorway.owed = (.hold, Doorway.openingsMaximum) }
            if hold == nil { doorway.owed = nil }
            setRelock(settings.mode == .passage ? nil : here(turn), &turn)
            secureIfDue(&turn)
        }
        openIfOwed(&turn)
    }

    /// As soon as the bolt rests.
    private mutating func openIfOwed(_ turn: inout LockTurn) {
        guard !bolt.isMoving, let cause = doorway.takeOpening() else { return }
        guard bolt.wouldMove(.unlock) else {
            doorway.owed = nil
            return
        }
        let sequence = audit(.opening(cause), &turn)
        if cause == .exit {
            giveTimeToLeave(isOpen: false, turn)
            // It may have waited for a locking, which has no use for a relock and has taken this one's away.
            if modeInEffect != .passage { relockBehindExit(&turn) }
        }
        begin(.unlock, .rule, sequence: sequence, &turn)
        tellState(except: nil, &turn)
    }

    /// In a fire a bolt that has locked without an order, because a pulse is over or its keeper has died, is withdrawn anew: once for each
    /// time that it is found so.
    /// For somebody who goes out by a bolt that was open when he pressed the button it is so once.
    mutating func keepWayOut(_ position: BoltPosition, _ turn: LockTurn) {
        #if LATCH_PLANTS
        if Plant.active == .wayOut { return }
        #endif
        guard position == .locked else { return }
        if doorway.isFire {
            doorway.owed = (.hold, Doorway.openingsMaximum)
        } else if doorway.owesExit(at: turn.now) {
            doorway.owed = (.exit, 1)
        }
    }

    // MARK: Inputs

    mutating func take(_ input: DoorInput, _ turn: inout LockTurn) {
        switch input {
        case .exit: letOut(&turn)
        case .fire(let isOn): doorway.isFire = isOn
        }
    }

    /// Nobody is kept inside, in no mode.
    private mutating func letOut(_ turn: inout LockTurn) {
        guard doorway.rules.exit == .opens else { return doorway.announceExit(now: turn.now) }
        #if LATCH_PLANTS
        if Plant.active == .exit, bolt.isMoving { return }
        #endif
        if doorway.owed.map({ $0.left == 0 }) ?? true { doorway.owed = (.exit, 1) }
        let isOpening = [.unlocked, .unlocking, .unlatched].contains(bolt.code)
        giveTimeToLeave(isOpen: isOpening, turn)
        // Somebody wants it open, without an end.
        if modeInEffect == .passage || isOpening && relock == nil { return }
        relockBehindExit(&turn)
    }

    private var exitMilliseconds: UInt64 { UInt64(settings.relockSeconds ?? settings.lockAndGoSeconds) * 1_000 }

    private mutating func giveTimeToLeave(isOpen: Bool, _ turn: LockTurn) {
        let milliseconds = min(exitMilliseconds, DoorRules.leavingMilliseconds)
        doorway.letOut(until: turn.now.advanced(byMilliseconds: milliseconds), isOpen: isOpen)
    }

    /// Who goes out is not locked in by a word either.
    func isLeaving(by operation: LockOperation, at now: Instant) -> Bool {
        operation.isSecuring && bolt.position != .locked && doorway.leavingUntil(at: now) != nil
    }

    private mutating func relockBehindExit(_ turn: inout LockTurn) {
        let due = turn.now.advanced(byMilliseconds: exitMilliseconds)
        setRelock(BootDeadline(boot: boot, at: max(due, relock?.due(in: boot) ?? due)), &turn)
    }

    // MARK: The contact

    /// What the contact's word means, with what is known of bolt and door.
    mutating func refine(_ report: ActuatorReport, _ turn: inout LockTurn) -> ActuatorReport {
        guard case .door(let said) = report else { return report }
        return .door(take(said, behind: bolt.door, bolt: bolt.position, &turn))
    }

    /// The same of what a launch finds. A door that was open before is open still; behind a movement that was under way nobody knows whether
    /// it has opened before the bolt went out.
    mutating func refine(
        _ reading: BoltReading, behind kept: LockSnapshot, _ turn: inout LockTurn
    ) -> BoltReading {
        var reading = reading
        let isAtRest = reading.moving == nil && kept.intent == nil && !reading.isUnrecorded
        reading.door = take(
            reading.door, behind: kept.bolt.door, bolt: isAtRest ? reading.position : nil, &turn)
        return reading
    }

    private mutating func take(
        _ said: DoorCode, behind known: DoorCode, bolt: BoltPosition?, _ turn: inout LockTurn
    ) -> DoorCode {
        let ajar = doorway.ajar
        let code = doorway.take(said, behind: known, bolt: bolt, at: here(turn))
        if doorway.ajar != ajar { turn.persist(.ajar(doorway.ajar)) }
        return code
    }

    mutating func watchAjar(_ turn: inout LockTurn) {
        guard let code = doorway.ajarCode(behind: bolt.door, at: here(turn)) else { return }
        turn.persist(.ajar(nil))
        let before = BoltRecord(position: bolt.position ?? .unknown, door: bolt.door)
        settle(bolt.handle(.door(code)), before: before, &turn)
    }

    /// Behind a door that has closed, a relock has waited long enough.
    mutating func lockBehind(_ door: DoorCode, before: DoorCode, _ turn: inout LockTurn) {
        guard doorway.rules.locksWhenClosed, before.standsOpen, door.state == .closed, relock != nil else { return }
        setRelock(here(turn), &turn)
    }

    /// When an open door is ajar, or hours are to be looked at.
    var doorDeadline: Instant? {
        let ajar = bolt.door.state == .open ? doorway.ajar?.due(in: boot) : nil
        return [ajar, doorway.hoursReview].compactMap(\.self).min()
    }
}
