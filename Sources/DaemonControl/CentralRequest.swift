/// What an operator asks of the key's daemon.
package enum CentralRequest: ControlRequest {
    case status
    /// Enrols this key at the lock that the setup code names. The exchange ends with the outcome, or when the wait is over.
    case enroll(code: SecretText, seconds: Int64)
    /// Asks a lock to move. The exchange ends with its receipt, or when the wait is over; then nobody knows whether the
    /// lock acted, and the key asks it at the next connection.
    case command(Command)
    /// Calls a lock by another name from now on.
    case rename(lock: String, name: String)
    /// What its user has written down about a lock, at this key.
    case note(lock: String, NoteChange)
    /// Has a lock come before all others where the signals do not tell, or with false prefers it no more.
    case prefer(lock: String, Bool)
    /// Ends what is between the key and a lock, with their bond.
    case forget(lock: String)
    /// Each reading of a lock's link from now on, until the client goes; nothing comes of proximity meanwhile. nil: the only lock.
    case calibrate(lock: String?)
    /// Gives a lock thresholds of its own, or with nil the configuration's again.
    case thresholds(lock: String?, Thresholds?)
    /// Every state transition from now on, until the client goes.
    case events
    /// All locks, and then each one that changes, until the client goes.
    case watch
    /// Reads the configuration file anew.
    case reload
    /// Ends the daemon cleanly.
    case stop

    package static let enrolmentUsualSeconds: Int64 = 60
    package static let enrolmentMaximumSeconds: Int64 = 3600

    package struct Command: Equatable, Sendable {
        package enum Operation: String, CaseIterable, Sendable {
            case lock, unlock, unlatch
            case lockAndGo = "lock-and-go"

            /// Whether a bolt that it opens may be told when to go back, and whether to stay open until somebody locks it.
            package var takesRelock: Bool { self != .lock }
            package var takesHold: Bool { self == .unlock }
            /// Whether the key may be asked to find the lock.
            package var takesNearest: Bool { self == .unlock }
        }

        /// When the bolt goes back.
        package enum Relock: Equatable, Sendable {
            /// As the lock is set.
            case setting
            case after(seconds: UInt8)
            /// Not before somebody locks it.
            case held
        }

        package static let relockSeconds: ClosedRange<Int64> = 1...254

        package static let defaultWaitSeconds: Int64 = 10
        package static let maximumWaitSeconds: Int64 = 3600

        package var operation: Operation
        package var relock: Relock
        /// The name or identifier of a lock; nil when only one is enrolled.
        package var lock: String?
        /// The lock that is nearest is meant. Then ``lock`` is nil.
        package var isForNearest: Bool
        package var waitSeconds: Int64

        package init(
            operation: Operation, relock: Relock = .setting, lock: String?, isForNearest: Bool = false,
            waitSeconds: Int64
        ) {
            self.operation = operation
            self.relock = relock
            self.lock = lock
            self.isForNearest = isForNearest
            self.waitSeconds = waitSeconds
        }
    }

    package enum NoteChange: Equatable, Sendable {
        /// None: it is said as it is.
        case show
        case set(String)
        case clear
    }

    /// In dBm, as a link is near and as it is away.
    package struct Thresholds: Equatable, Sendable {
        package static let dBmRange: ClosedRange<Int64> = -127...20

        package var near: Int64
        package var away: Int64

        package init(near: Int64, away: Int64) { (self.near, self.away) = (near, away) }
    }

    /// Takes the members that the request has.
    ///
    /// - Throws: ``ControlFailure`` when the name is unknown, or a member is missing or out of its bounds.
    package init(name: String, fields: inout RequestFields) throws(ControlFailure) {
        switch name {
        case "status": self = .status
        case "events": self = .events
        case "watch": self = .watch
        case "reload": self = .reload
        case "stop": self = .stop
        case "enroll":
            let code = SecretText(try fields.text("code"))
            self = .enroll(
                code: code,
                seconds: try fields.number(
                    "seconds", in: 1...Self.enrolmentMaximumSeconds, default: Self.enrolmentUsualSeconds))
        case "command":
            let operation: Command.Operation = try fields.choice("operation", default: nil)
            let lock = try fields.optionalText("lock")
            let wait = try fields.number(
                "wait", in: 1...Command.maximumWaitSeconds, default: Command.defaultWaitSeconds)
            let relock = try Self.relock(of: operation, &fields)
            let pick: PickWord? = operation.takesNearest ? try fields.optionalChoice("pick") : nil
            guard lock == nil || pick == nil else {
                throw ControlFailure(
                    .unknownRequest, "\"lock\" and \"pick\" do not go together: a lock that is named is not looked for")
            }
            self = .command(
                Command(
                    operation: operation, relock: relock, lock: lock, isForNearest: pick == .nearest, waitSeconds: wait)
            )
        case "rename": self = .rename(lock: try fields.text("lock"), name: try fields.text("name"))
        case "note":
            let lock = try fields.text("lock")
            let act: NoteWord = try fields.choice("act", default: nil)
            switch act {
            case .show: self = .note(lock: lock, .show)
            case .set: self = .note(lock: lock, .set(try fields.text("text")))
            case .clear: self = .note(lock: lock, .clear)
            }
        case "prefer":
            let act: PreferenceWord = try fields.choice("act", default: nil)
            self = .prefer(lock: try fields.text("lock"), act == .set)
        case "forget": self = .forget(lock: try fields.text("lock"))
        case "calibrate": self = .calibrate(lock: try fields.optionalText("lock"))
        case "thresholds":
            self = .thresholds(lock: try fields.optionalText("lock"), try Self.thresholds(&fields))
        default:
            throw .unknown(
                name,
                known: [
                    "status", "enroll", "command", "rename", "note", "prefer", "forget", "calibrate", "thresholds",
                    "reload", "events", "watch", "stop",
                ])
        }
    }

    private static func relock(
        of operation: Command.Operation, _ fields: inout RequestFields
    ) throws(ControlFailure) -> Command.Relock {
        let hold: HoldWord? = operation.takesHold ? try fields.optionalChoice("hold") : nil
        let seconds =
            operation.takesRelock
            ? try fields.number("relock", in: Command.relockSeconds, default: 0) : 0
        switch (hold, seconds) {
        case (nil, 0): return .setting
        case (nil, _): return .after(seconds: UInt8(seconds))
        case (.open, 0): return .held
        case (.open, _):
            throw ControlFailure(
                .unknownRequest, "\"relock\" and \"hold\" do not go together: a bolt that stays open has no time")
        }
    }

    private static func thresholds(_ fields: inout RequestFields) throws(ControlFailure) -> Thresholds? {
        let near = try fields.optionalNumber("near_dbm", in: Thresholds.dBmRange)
        let away = try fields.optionalNumber("away_dbm", in: Thresholds.dBmRange)
        switch (near, away) {
        case (nil, nil): return nil
        case (let near?, let away?): return Thresholds(near: near, away: away)
        case (_?, nil), (nil, _?):
            throw ControlFailure(.unknownRequest, "\"near_dbm\" and \"away_dbm\" go together, or neither is there")
        }
    }

    private enum HoldWord: String, CaseIterable { case open }
    private enum PickWord: String, CaseIterable { case nearest }
    private enum NoteWord: String, CaseIterable { case show, set, clear }
    private enum PreferenceWord: String, CaseIterable { case set, clear }

    package var encoded: (name: String, fields: JSONObject) {
        switch self {
        case .status: return ("status", [:])
        case .events: return ("events", [:])
        case .watch: return ("watch", [:])
        case .reload: return ("reload", [:])
        case .stop: return ("stop", [:])
        case .enroll(let code, let seconds):
            var fields: JSONObject = ["code": code.withText { .string($0) }]
            // A daemon of an earlier version, which waits for the usual time, takes no such member.
            if seconds != Self.enrolmentUsualSeconds { fields["seconds"] = .number(seconds) }
            return ("enroll", fields)
        case .command(let command):
            var fields: JSONObject = ["operation": .string(command.operation.rawValue)]
            fields["lock"] = command.lock.map { .string($0) }
            if command.isForNearest { fields["pick"] = .string(PickWord.nearest.rawValue) }
            fields["wait"] = .number(command.waitSeconds)
            switch command.relock {
            case .setting: break
            case .after(let seconds): fields["relock"] = .number(Int64(seconds))
            case .held: fields["hold"] = .string(HoldWord.open.rawValue)
            }
            return ("command", fields)
        case .rename(let lock, let name): return ("rename", ["lock": .string(lock), "name": .string(name)])
        case .note(let lock, let change):
            func fields(_ act: NoteWord) -> JSONObject { ["lock": .string(lock), "act": .string(act.rawValue)] }
            switch change {
            case .show: return ("note", fields(.show))
            case .clear: return ("note", fields(.clear))
            case .set(let text):
                var fields = fields(.set)
                fields["text"] = .string(text)
                return ("note", fields)
            }
        case .prefer(let lock, let isPreferred):
            let act: PreferenceWord = isPreferred ? .set : .clear
            return ("prefer", ["lock": .string(lock), "act": .string(act.rawValue)])
        case .calibrate(let lock):
            var fields = JSONObject()
            fields["lock"] = lock.map { .string($0) }
            return ("calibrate", fields)
        case .thresholds(let lock, let values):
            var fields = JSONObject()
            fields["lock"] = lock.map { .string($0) }
            fields["near_dbm"] = values.map { .number($0.near) }
            fields["away_dbm"] = values.map { .number($0.away) }
            return ("thresholds", fields)
        case .forget(let lock): return ("forget", ["lock": .string(lock)])
        }
    }
}
