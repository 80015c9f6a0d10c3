import BluetoothCore
import LockProtocol

/// What the owner hears of at once (docs/PROTOCOL.md, "Alarm").
extension LockMachine {
    /// Counts an alarm, and tells it unless there were too many of its kind: the shell, and who may read the audit and has subscribed.
    /// `record`: the audit's that it stands on, of this turn, so that the alarm leaves behind its commit.
    mutating func raise(_ alarm: Alarm, on record: UInt64? = nil, _ turn: inout LockTurn) {
        #if LATCH_PLANTS
        if Plant.active == .jam, alarm.kind == .jam { return }
        if Plant.active == .forced, alarm == .forced(.door) { return }
        if Plant.active == .ajar, alarm == .ajar { return }
        #endif
        guard let report = alarms.take(alarm, on: record, now: turn.now) else { return }
        turn.act(.alarm(report))
        let octets = alarms.value.encoded
        for link in sortedLinks(where: {
            mayReadAlarms($0) && $0.subscriptions.contains(.alarm) && !isInSight($0, of: alarm)
        }) {
            turn.act(.notifyAlarm(link, octets))
        }
    }

    /// At a launch: what an earlier program has committed, and may not have told. Nobody is connected yet.
    mutating func raiseOwed(_ turn: inout LockTurn) {
        #if LATCH_PLANTS
        if Plant.active == .untold { return }
        #endif
        for report in alarms.takeOwed(now: turn.now) { turn.act(.alarm(report)) }
    }

    /// All alarms up to the one with this ``AlarmReport/number`` have been told. For the shell to say before an input.
    package mutating func alarmsTold(through number: UInt64) { alarms.debt.told(through: number) }

    /// Behind each input: what is owed goes with the record that it stands on.
    mutating func settleAlarms(_ turn: inout LockTurn) {
        if let owed = alarms.debt.settle(at: turn.now, isCommitting: !turn.facts.isEmpty) {
            turn.persist(.owedAlarms(owed))
        }
    }

    /// What was told is owed no more, at once: this program ends, and another one follows.
    package mutating func takeBackAlarms(at moment: LockMoment, into outputs: inout [LockOutput]) {
        var turn = LockTurn(moment, random: 0)
        alarms.debt.reviewAtOnce(turn.now)
        settleAlarms(&turn)
        turn.flush(into: &outputs)
    }

    /// Whether a link may be told of alarms: it is proven, its bond's credential is enabled, and its role may read the audit.
    package func mayReadAlarms(_ link: LockLink) -> Bool { links[link].map(mayReadAlarms) ?? false }

    /// Whoever forces somebody to open looks at what that user carries: none of these devices says that it was under a threat.
    private func isInSight(_ state: LinkState, of alarm: Alarm) -> Bool {
        guard case .duress(let id) = alarm, let bond = state.claim?.bond else { return false }
        return credential(of: bond)?.userName == credentials[id]?.userName
    }

    private func mayReadAlarms(_ state: LinkState) -> Bool {
        guard let credential = state.provenBond.flatMap({ credential(of: $0) }) else { return false }
        return credential.isEnabled && state.rights(of: credential).permit(.readAudit)
    }

    /// Raised once, until the clock can be trusted again.
    mutating func watchClock(_ turn: inout LockTurn) {
        let fault = clockFault(turn.moment)
        if alarms.doubtClock(fault), let fault { raise(.clock(fault), &turn) }
    }

    /// The bolt was found somewhere without having been sent, by a hand or by force. Where nobody can say where it is, nobody can say that
    /// it was forced either: hardware that is unplugged, or that cannot be read, says no more.
    mutating func alarmBolt(_ position: BoltPosition, before: BoltPosition, on record: UInt64, _ turn: inout LockTurn) {
        if before == .locked, position != .unknown {
            raise(.forced(.bolt), on: record, &turn)
        } else if position == .jammed || before == .locked {
            raise(.jam(position), on: record, &turn)
        }
    }

    mutating func alarmDoor(_ door: DoorCode, before: DoorCode, on record: UInt64, _ turn: inout LockTurn) {
        if door.state == .forced, before.state != .forced {
            raise(.forced(.door), on: record, &turn)
        }
        if door.state == .ajar, before.state != .ajar { raise(.ajar, on: record, &turn) }
        if door.isTampered, !before.isTampered { raise(.tamper(.door), on: record, &turn) }
    }
}
