import BluetoothCore
import LockProtocol

/// A link as the shell numbers it: never used twice in a process.
package struct LockLink: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package var description: String { "link \(rawValue)" }
}

/// When an input happened.
package struct LockMoment: Hashable, Sendable {
    package var now: Instant
    /// Seconds since 1970; nil while the clock cannot be trusted.
    package var wallClockSeconds: Int64?

    package init(now: Instant, wallClockSeconds: Int64? = nil) {
        self.now = now
        self.wallClockSeconds = wallClockSeconds
    }
}

/// The bond that a link's address names or resolves to, and what its receipts are sealed with. It identifies; nothing is
/// proven by it.
package struct LinkClaim: Sendable {
    package var bond: UInt64
    package var receiptKey: ReceiptKey
    /// Where one program of the device's has a key of its own, commands are its alone. What else comes over the link may be any program's.
    package var programKey: ProgramKey?

    package init(bond: UInt64, receiptKey: ReceiptKey, programKey: ProgramKey? = nil) {
        self.bond = bond
        self.receiptKey = programKey?.receipts ?? receiptKey
        self.programKey = programKey
    }
}

/// A characteristic that a link may have subscribed to.
package enum LockSubscription: Hashable, Sendable, CaseIterable {
    case challenge, receipt, lockState, alarm

    var needsEncryption: Bool { self == .lockState || self == .alarm }
}

/// How a command came. The stack has verified the MAC of a signed one, and that its counter is fresh.
package enum CommandPath: Hashable, Sendable {
    case signed(counter: UInt32)
    case encrypted
}

/// What happens to a lock.
package enum LockInput: Sendable {
    /// `subscriptions` are those that the bond's stored configuration claims.
    case connected(LockLink, LinkClaim?, subscriptions: Set<LockSubscription>)
    case disconnected(LockLink)
    /// The link has been encrypted with this bond's LTK: the peer is proven from here on.
    case encrypted(LockLink, LinkClaim)
    /// An enrolment on this link begins or is over; while it lasts nobody drops it for being unproven.
    case pairing(LockLink, isUnderWay: Bool)
    case subscription(LockLink, LockSubscription, isOn: Bool)
    /// Answered by ``LockOutput/challengeValue(_:_:)``.
    case challengeRead(LockLink)
    case command(LockLink, CommandPath, [UInt8])
    /// Answered by ``LockOutput/indicateControlPoint(_:_:)``. With what the store has of what it is about.
    case controlPoint(LockLink, [UInt8], ControlPointContext = ControlPointContext())
    /// Answered by ``LockOutput/recordAccess(_:_:)``.
    case recordAccess(LockLink, [UInt8])
    case actuator(ActuatorReport)
    case timerFired
    case administration(LockAdministration)
    /// The shell, or its store, has found this.
    case alarm(Alarm)
}

/// What the operator, or a procedure that has checked its right, changes.
package enum LockAdministration: Hashable, Sendable {
    case credential(Credential)
    case credentialRemoved(CredentialID)
    /// What an operator does to everything of this name, on the audit's record.
    case named(String, CredentialChange)
    /// The same for every device of a user.
    case ofUser(String, CredentialChange)
    /// An operator removes a row that cannot be read, by this name or number, on the audit's record. Its bond is not known.
    case unreadableRemoved(CredentialID, named: String)
    case settings(LockSettings)
    /// What is fitted to the door. A door that is open counts by the rules under which it was opened.
    case rules(DoorRules)
    /// Refused, and nothing changed, where ``LockMachine/mayEnter(_:)`` says so.
    case mode(LockMode)
    /// The bolt is moved, where ``LockMachine/verdict(on:at:)`` accepts that; else nothing changes.
    case operate(LockOperation)
    /// Who asks for what follows, of the machine's users; nil: nobody at the machine.
    case asked(by: UInt32?)
    /// For the audit: the program ends in order.
    case stopped
    /// For the audit: what follows makes a new lock of it.
    case reset
    /// For the audit, as the next one. `by`, `opener`: a manager, on whose account it is; nil: the operators at the machine.
    case windowOpened(name: String, Role, by: AuditedManager? = nil)
    case windowClosed(name: String, WindowEnd, opener: CredentialID? = nil)
    /// It has its bond from now on. `opener`: as above, where it came of a window that is open.
    case enrolled(Credential, opener: CredentialID? = nil)
    /// The security manager has no such bond any more.
    case bondForgotten(UInt64)
    /// The same, on the audit's record: it had no credential.
    case bondEnded(UInt64, BondEnd)
    /// The owner has what is kept believed: the store answers for every bond from now on.
    case stateConfirmed(StateDoubt)
}

/// What an operator's word is about.
package enum CredentialScope: Hashable, Sendable {
    /// Everything of this name: a window that is open may offer a second credential of a name.
    case named(String)
    /// Every device of this user.
    case ofUser(String)

    package func covers(_ credential: Credential) -> Bool {
        switch self {
        case .named(let name): credential.name == name
        case .ofUser(let user): credential.userName == user
        }
    }
}

/// What a request to the Record Access Control Point comes to.
package enum RecordAccessVerdict: Hashable, Sendable {
    /// Its sender has no right to it.
    case refused
    /// It cannot be read.
    case malformed(RecordAccessOpcode, RecordAccessResult)
    /// The shell does it, for as long as ``LockMachine/mayReadAudit(_:at:)`` says so.
    case granted(RecordAccessProcedure)
}

/// Why a bond without a credential goes.
package enum BondEnd: Hashable, Sendable {
    /// An operator's word.
    case deleted
    /// It has not proved itself in its time.
    case expired
}

extension CredentialChange {
    /// As the audit has it.
    package var act: CredentialAct {
        switch self {
        case .disabled: .disabled
        case .enabled: .enabled
        case .removed: .removed
        case .scheduled: .scheduled
        }
    }

    /// What it leaves of `credential`; nil: nothing.
    package func applied(to credential: Credential) -> Credential? {
        var changed = credential
        switch self {
        case .disabled: changed.isEnabled = false
        case .enabled: changed.isEnabled = true
        case .removed: return nil
        case .scheduled(let validity, let schedules):
            changed.validity = validity
            changed.schedules = schedules
        }
        return changed
    }
}

/// What a lock wants done, in this order. All of a turn's `persist` come before its first act, and must be on disk
/// before it.
package enum LockOutput: Hashable, Sendable {
    case persist(LockMutation)
    case actuate(ActuatorOrder)
    /// Goes before any other traffic of a new connection.
    case notifyChallenge(LockLink, [UInt8])
    case notifyReceipt(LockLink, [UInt8])
    case notifyLockState(LockLink, [UInt8])
    case indicateControlPoint(LockLink, [UInt8])
    /// The request is answered with it; what is reported comes behind that.
    case recordAccess(LockLink, RecordAccessVerdict)
    /// A manager has removed everything of this name. What else there is of it goes in the same commit: these bonds, those that have yet
    /// to prove themselves, and its window.
    case credentialRemoved(String, bonds: [UInt64])
    /// A manager opens the enrolment window. The shell answers the request when it has.
    case openWindow(LockLink, EnrolmentOpening, by: AuditedManager)
    case closeWindow
    /// The answer to a read.
    case challengeValue(LockLink, [UInt8])
    case stateChanged(BoltCode, DoorCode)
    case alarm(AlarmReport)
    case notifyAlarm(LockLink, [UInt8])
    case disconnect(LockLink)
}

/// What one input makes of a lock: facts apart from acts, so that no act can get in front of a fact.
struct LockTurn {
    let moment: LockMoment
    /// The next challenge, from the shell's random source.
    let random: UInt64
    private(set) var facts: [LockMutation] = []
    private(set) var acts: [LockOutput] = []

    init(_ moment: LockMoment, random: UInt64) {
        self.moment = moment
        self.random = random
    }

    var now: Instant { moment.now }
    mutating func persist(_ fact: LockMutation) { facts.append(fact) }
    mutating func act(_ act: LockOutput) { acts.append(act) }

    func flush(into outputs: inout [LockOutput]) {
        for fact in facts { outputs.append(.persist(fact)) }
        outputs += acts
    }
}
