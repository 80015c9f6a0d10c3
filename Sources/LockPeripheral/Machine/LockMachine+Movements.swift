import BluetoothCore
import LockProtocol

/// Intents from their beginning to their one outcome.
extension LockMachine {
    /// Settles what the last process left, by ``LaunchRules``.
    mutating func launch(_ snapshot: LockSnapshot, reading: BoltReading, _ turn: inout LockTurn) {
        lookAtHours(turn)
        let reading = refine(reading, behind: snapshot, &turn)
        bolt = BoltMachine(BoltRecord(position: reading.position, door: reading.door))
        let found = BoltRecord(position: reading.position, door: reading.door)
        if found != snapshot.bolt {
            turn.persist(.bolt(found))
            if snapshot.intent == nil, !reading.isUnrecorded {
                auditFoundBolt(found.position, behind: snapshot.bolt, &turn)
            }
            auditFoundDoor(found.door, behind: snapshot.bolt, &turn)
        }
        // News, if the last commit knew neither of a locked bolt nor of the end of what had been made before.
        if reading.isUnrecorded, snapshot.bolt.position != .locked || reading.performed == true {
            audit(.securedUnrecorded, &turn)
        }
        if let intent = snapshot.intent {
            switch LaunchRules.settle(intent, reading: reading, boot: boot, now: turn.now) {
            case .awaited: bolt.begin(intent, now: turn.now)
            // Something holds the door open by now.
            case .driven where intent.movement.isSecuring && holdNow != nil:
                end(intent, .aborted, at: reading.position, isJam: false, &turn)
            case .driven:
                bolt.begin(intent, now: turn.now)
                turn.act(.actuate(ActuatorOrder(intent)))
            case .ended(let outcome):
                let isJam = outcome != .done && reading.position == .jammed
                end(intent, outcome, at: reading.position, isJam: isJam, &turn)
            }
        }
        // People leave by it, whoever has locked it meanwhile.
        if doorway.isFire { doorway.owed = (.hold, Doorway.openingsMaximum) }
    }

    /// Nothing was owed: what is not where it was has moved without the lock.
    private mutating func auditFoundBolt(_ position: BoltPosition, behind kept: BoltRecord, _ turn: inout LockTurn) {
        guard position != kept.position else { return }
        let record = audit(.bolt(position), &turn)
        alarmBolt(position, before: kept.position, on: record, &turn)
    }

    /// What the contact says that is told, whatever was owed.
    private mutating func auditFoundDoor(_ door: DoorCode, behind kept: BoltRecord, _ turn: inout LockTurn) {
        let isForced = door.state == .forced && !kept.door.standsOpen
        guard isForced || door.isTampered && !kept.door.isTampered else { return }
        let record = audit(.door(door), &turn)
        alarmDoor(door, before: kept.door, on: record, &turn)
    }

    /// Launches with nothing between them are one record and a number. The chain tells the number before what happens next.
    mutating func auditLaunch(_ tail: AuditTail, _ turn: inout LockTurn) {
        guard tail.isLaunch else {
            audit(.launched, &turn)
            return
        }
        isFreshLaunch = true
        untoldLaunches = tail.relaunches + 1
        turn.persist(.relaunched(behind: auditHead.sequence, times: untoldLaunches))
    }

    /// Commits to a movement and orders it. `until` bounds an opening beside ``Intent/openingLifeMilliseconds``.
    mutating func begin(
        _ movement: Movement, _ origin: IntentOrigin, sequence: UInt64, until: Instant? = nil, _ turn: inout LockTurn
    ) {
        let life = turn.now.advanced(byMilliseconds: Intent.openingLifeMilliseconds)
        let deadline = movement.isSecuring ? nil : Instant.earliest(life, until)
        let intent = Intent(
            id: IntentID(rawValue: sequence), movement: movement, origin: origin, boot: boot, deadline: deadline)
        turn.persist(.intent(intent))
        bolt.begin(intent, now: turn.now)
        turn.act(.actuate(ActuatorOrder(intent)))
    }

    mutating func actuator(_ report: ActuatorReport, _ turn: inout LockTurn) {
        if case .input(let input) = report { return take(input, &turn) }
        let before = BoltRecord(position: bolt.position ?? .unknown, door: bolt.door)
        let report = refine(report, &turn)
        settle(bolt.handle(report), before: before, isDeclined: report.isDeclined, &turn)
    }

    /// `before`: where bolt and door were. `isDeclined`: the movement did not begin.
    mutating func settle(
        _ change: BoltMachine.Change, before: BoltRecord = BoltRecord(), isDeclined: Bool = false,
        _ turn: inout LockTurn
    ) {
        switch change {
        case .nothing: return
        case .began(let intent): turn.persist(.intent(intent))
        case .ended(let intent, let outcome, let position):
            turn.persist(.bolt(BoltRecord(position: position, door: bolt.door)))
            // An opening may have come too late, which is no fault of the bolt.
            let isJam = outcome != .done && (!isDeclined || intent.movement.isSecuring)
            end(intent, outcome, at: position, isJam: isJam, &turn)
            secureIfDue(&turn)
        case .found(let position):
            let record = audit(.bolt(position), &turn)
            turn.persist(.bolt(BoltRecord(position: position, door: bolt.door)))
            tellState(except: nil, &turn)
            alarmBolt(position, before: before.position, on: record, &turn)
            keepWayOut(position, turn)
        case .door(let door):
            let record = audit(.door(door), &turn)
            turn.persist(.bolt(BoltRecord(position: bolt.position ?? .unknown, door: door)))
            tellState(except: nil, &turn)
            lockBehind(door, before: before.door, &turn)
            secureIfDue(&turn)
            alarmDoor(door, before: before.door, on: record, &turn)
        }
    }

    /// The one place where a movement gets its outcome.
    private mutating func end(
        _ intent: Intent, _ outcome: Outcome, at position: BoltPosition, isJam: Bool, _ turn: inout LockTurn
    ) {
        turn.persist(.intent(nil))
        var record: UInt64?
        #if LATCH_PLANTS
        // Settled at a launch, before anybody could be told.
        let isForgotten = Plant.active == .lost && intent.origin.command != nil && requester == nil
        if !isForgotten {
            record = audit(.outcome(of: intent.id.rawValue, outcome), of: intent.origin.command?.credential, &turn)
        }
        #else
        record = audit(.outcome(of: intent.id.rawValue, outcome), of: intent.origin.command?.credential, &turn)
        #endif
        let told = requester
        requester = nil
        if let origin = intent.origin.command { conclude(origin, outcome, at: position, told: told, &turn) }
        tellState(except: told?.link, &turn)
        recover(intent, outcome, at: position, &turn)
        if isJam { raise(.jam(position), on: record, &turn) }
    }

    private mutating func conclude(
        _ origin: CommandOrigin, _ outcome: Outcome, at position: BoltPosition, told: Requester?,
        _ turn: inout LockTurn
    ) {
        let result: LockResult =
            switch outcome {
            case .done: .done
            case .aborted: position == .jammed ? .jammed : .aborted
            case .unknown: position == .jammed ? .jammed : .accepted
            }
        if var last = lastCommands[origin.bond], last.challenge == origin.challenge {
            last.result = result
            last.phase = outcome.phase
            lastCommands[origin.bond] = last
            turn.persist(.lastCommand(bond: origin.bond, last))
        }
        if let told, told.challenge == origin.challenge { answer(told.link, result, told.challenge, &turn) }
    }

    /// What did not come to its end is brought to its secure state: once, and not by trying a failed lock again for ever. In passage
    /// nothing locks, and the bolt stays where it is.
    private mutating func recover(
        _ intent: Intent, _ outcome: Outcome, at position: BoltPosition, _ turn: inout LockTurn
    ) {
        guard outcome != .done, position != .locked, intent.origin != .recovery else { return }
        guard holdNow == nil else {
            doorway.owed = doorway.owed ?? (.hold, Doorway.openingsMaximum)
            return
        }
        if settings.mode == .passage { return }
        if bolt.door.standsOpen || doorway.leavingUntil(at: turn.now) != nil {
            setRelock(BootDeadline(boot: boot, at: turn.now), &turn)
        } else {
            secure(.recovery, &turn)
        }
    }

    /// A relock waits for a movement to end, for the door to close, and for whatever holds it open.
    var isFreeToSecure: Bool {
        #if LATCH_PLANTS
        if Plant.active == .openDoor { return !bolt.isMoving && holdNow == nil }
        #endif
        return !bolt.isMoving && !bolt.door.standsOpen && holdNow == nil
    }

    mutating func secureIfDue(_ turn: inout LockTurn) {
        guard isFreeToSecure, let relock, turn.now >= relock.due(in: boot) else { return }
        guard bolt.wouldMove(.lock) else { return setRelock(nil, &turn) }
        secure(.rule, &turn)
    }

    private mutating func secure(_ origin: IntentOrigin, _ turn: inout LockTurn) {
        setRelock(nil, &turn)
        let sequence = audit(.securing(recovering: origin == .recovery), &turn)
        begin(.lock, origin, sequence: sequence, &turn)
        tellState(except: nil, &turn)
    }

    /// None is due before whoever goes out has gone: on disk, so that no next process locks sooner.
    mutating func setRelock(_ wanted: BootDeadline?, _ turn: inout LockTurn) {
        var deadline = wanted
        if let wanted, let until = doorway.leavingUntil(at: turn.now), wanted.due(in: boot) < until {
            deadline = BootDeadline(boot: boot, at: until)
        }
        guard deadline != relock else { return }
        relock = deadline
        turn.persist(.relock(deadline))
    }

    /// Tells the shell, and every entitled link that subscribed to Lock State, how bolt and door stand now.
    func tellState(except told: LockLink?, _ turn: inout LockTurn) {
        turn.act(.stateChanged(bolt.code, bolt.door))
        let octets = LockState(bolt: bolt.code, door: bolt.door, result: .done, answered: 0).encoded
        for link in sortedLinks(where: { isEntitled($0) && $0.subscriptions.contains(.lockState) }) where link != told {
            turn.act(.notifyLockState(link, octets))
        }
    }
}
