import BluetoothCore
import LockProtocol

/// What a manager sets of the lock itself: how it behaves, and what the door is for at present. docs/PROTOCOL.md, "The lock itself"
extension LockMachine {
    /// The version of what was read, then what is fixed: nobody changes unseen what it has not read, or what the operator keeps.
    mutating func set(
        _ wanted: LockSettings, _ version: ValueVersion, fixed: LockSettings.Fields, by sender: Credential,
        _ turn: inout LockTurn
    ) -> ControlPointResult {
        // The mode is changed by its own procedure, under its own right.
        guard wanted.isPossible, wanted.mode == settings.mode else { return .invalidOperand }
        guard version == ValueVersion(of: SettingsRecord(settings, fixed: fixed).encoded) else { return .changed }
        guard wanted.taking(fixed, from: settings) == wanted else { return .fixed }
        // Its own hours and its own end are by this calendar.
        guard !sender.isPassing || wanted.calendar == settings.calendar else { return .notPermitted }
        guard wanted != settings else { return .success }
        settings = wanted
        turn.persist(.settings(settings))
        audit(.settingsManaged(by: AuditedManager(sender), settings), of: sender.id, &turn)
        return .success
    }

    /// The bolt goes open at once for a door that is for everybody, and there is one movement at a time.
    package func mayEnter(_ mode: LockMode) -> Bool { mode != .passage || settings.mode == mode || !bolt.isMoving }

    /// `manager`: nil for the terminal's operator. False: not now.
    @discardableResult
    mutating func enter(_ mode: LockMode, by manager: Credential?, _ turn: inout LockTurn) -> Bool {
        guard mayEnter(mode) else { return false }
        let former = settings.mode
        guard mode != former else { return true }
        settings.mode = mode
        turn.persist(.settings(settings))
        let record = audit(
            .modeChanged(mode, by: manager.map { AuditedManager($0) }), of: manager?.id, &turn)
        if mode == .passage {
            setRelock(nil, &turn)
            open(on: record, &turn)
        } else if former == .passage || mode.isClosed {
            // As soon as the bolt rests and the door is closed; a kill does not take it back.
            setRelock(BootDeadline(boot: boot, at: turn.now), &turn)
            secureIfDue(&turn)
        }
        return true
    }

    // MARK: Time

    /// What the lock's machine says, unless it is not to be trusted and a manager has told something that is.
    func clock(_ moment: LockMoment) -> Int64? {
        guard wallClockMark.trusted(moment.wallClockSeconds) == nil else { return moment.wallClockSeconds }
        let told = toldTime?.seconds(in: boot, at: moment.now)
        return wallClockMark.trusted(told) == nil ? moment.wallClockSeconds : told
    }

    func time(_ moment: LockMoment) -> LockTime {
        let seconds = timeOfDay(moment)
        let isMachine = wallClockMark.trusted(moment.wallClockSeconds) != nil
        return LockTime(
            source: seconds == nil ? .none : isMachine ? .machine : .manager, seconds: seconds,
            markSeconds: wallClockMark.seconds)
    }

    /// A machine with a clock knows better, and no time before the mark is believed: what has expired stays so. Who expires itself tells no time
    /// before the present one either: it would never be over.
    mutating func setTime(_ seconds: Int64, by sender: Credential, _ turn: inout LockTurn) -> ControlPointResult {
        guard LockTime.settableSeconds.contains(seconds) else { return .invalidOperand }
        guard wallClockMark.trusted(turn.moment.wallClockSeconds) == nil else { return .fixed }
        guard wallClockMark.trusted(seconds) != nil else { return .behind }
        if sender.isPassing, let present = timeOfDay(turn.moment), seconds < present { return .behind }
        let told = ToldTime(seconds, boot: boot, at: turn.now)
        toldTime = told
        turn.persist(.toldTime(told))
        audit(.timeSet(by: AuditedManager(sender), seconds: seconds), of: sender.id, &turn)
        return .success
    }

    private mutating func open(on record: UInt64, _ turn: inout LockTurn) {
        guard bolt.wouldMove(.unlock) else { return }
        begin(.unlock, .rule, sequence: record, &turn)
        tellState(except: nil, &turn)
    }
}
