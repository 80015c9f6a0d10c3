import BluetoothCore
import BluetoothCrypto
import LockProtocol

/// How a movement ended. Kept by its number.
package enum Outcome: UInt8, Sendable, CaseIterable {
    case done = 1
    /// Known not to have been carried out.
    case aborted = 2
    /// A restart or a fault hides whether the bolt moved.
    case unknown = 3

    package var phase: CommandPhase {
        switch self {
        case .done: .done
        case .aborted: .aborted
        case .unknown: .unknown
        }
    }
}

/// A command as the audit names it.
package struct AuditedCommand: Hashable, Sendable {
    package var bond: UInt64
    /// nil when the bond has none.
    package var credential: CredentialID?
    package var command: LockCommand
    /// nil on the encrypted path.
    package var signCounter: UInt32?

    package init(bond: UInt64, credential: CredentialID?, command: LockCommand, signCounter: UInt32?) {
        self.bond = bond
        self.credential = credential
        self.command = command
        self.signCounter = signCounter
    }
}

/// Something worth an account.
package enum AuditEvent: Hashable, Sendable {
    /// Exactly one `outcome` of this record's sequence follows, sooner or later.
    case granted(AuditedCommand)
    case refused(AuditedCommand, LockResult)
    /// This bond's refusals are no longer told one by one for a while.
    case refusalsSuppressed(bond: UInt64)
    /// This bond's commands that are granted and move nothing are no longer told one by one for a while.
    case idleGrantsSuppressed(bond: UInt64)
    /// The lock moves by its own rules: exactly one `outcome` follows here too.
    case securing(recovering: Bool)
    case outcome(of: UInt64, Outcome)
    /// The bolt was found or felt somewhere without having been sent.
    case bolt(BoltPosition)
    case door(DoorCode)
    /// The lock's program began, in the record's boot.
    case launched
    /// An operator changed what a credential may do. By its name too: a credential that is removed stands nowhere else.
    case administered(CredentialID, name: String, CredentialAct)
    /// Found at a launch: an earlier process secured the door when it could not write.
    case securedUnrecorded
    /// The program began so many times more behind the record before this one, which is of a launch, and nothing else happened.
    case relaunched(times: UInt64)
    /// The owner had the state believed in spite of this.
    case stateConfirmed(StateDoubt)
    /// An operator deleted this bond, which no credential named.
    case bondDeleted(bond: UInt64)
    /// This bond did not prove itself in its time, and was deleted.
    case bondExpired(bond: UInt64)
    /// An operator opened the enrolment window for a credential of this name and role.
    case windowOpened(name: String, Role)
    case windowClosed(name: String, WindowEnd)
    /// A bond has proved itself, and has this credential from now on.
    case enrolled(CredentialID, name: String, Role, bond: UInt64)
    /// The owner set these.
    case settingsChanged(LockSettings)
    /// Somebody who may set these over the air.
    case settingsManaged(by: AuditedManager, LockSettings)
    /// The lock is in this mode from now on. Where that takes the bolt open, an `outcome` of this record's sequence follows. `by`: nil for
    /// an operator.
    case modeChanged(LockMode, by: AuditedManager?)
    /// Somebody who may told the lock over the air what time it is, in seconds since 1970.
    case timeSet(by: AuditedManager, seconds: Int64)
    /// An operator made a new lock of it: everybody was removed, and the settings are a new lock's.
    case reset
    /// From here on this user of the machine asks for what operators do, until another user is named or the program begins anew.
    case operatorIs(user: UInt32)
    /// The program ended in order. A launch behind anything else than this one or a launch followed a crash, a kill or, in another boot, a
    /// loss of power.
    case stopped
    /// The clock was set: it should have said `expected` and said `found`, in seconds since 1970.
    case clockStepped(expected: Int64, found: Int64)
    /// Found at a launch: the record before this one is not the end of the audit that the lock signed.
    case auditDoubted(AuditDoubt)
    /// Somebody who may did over the air what ``administered(_:name:_:)`` says of an operator.
    case managed(by: AuditedManager, CredentialID, name: String, CredentialAct)
    /// A procedure of one of the control points was refused to somebody who has no right to it, or not over that credential.
    case procedureRefused(bond: UInt64, credential: CredentialID?, ControlPointOpcode)
    /// Somebody who may had the enrolment window opened or closed over the air. The window's own record follows.
    case windowManaged(by: AuditedManager, name: String, WindowAct)
    /// An opening has used up what this credential's user had, or begun its last minutes.
    case spent(CredentialID, name: String, CredentialAct)
    /// This bond's key asked too often for what it may not do, and is refused everything for so long.
    case lockedOut(bond: UInt64, CredentialID, seconds: UInt64)
    /// Somebody who opens under a threat has opened.
    case duress(CredentialID, name: String)
    /// A credential is a device of this user, and its user of this kind.
    case userSet(CredentialID, name: String, user: String, UserKind)
    /// This holds the bolt open from now on; nil: nothing does any more.
    case held(DoorHold?)
    /// The lock opens by its own rules: exactly one `outcome` follows here too.
    case opening(OpeningCause)
    /// An operator at the machine had the bolt moved: exactly one `outcome` follows here too.
    case operated(LockOperation)
}

extension AuditEvent {
    /// The credential whose name it says, and the name.
    package var naming: (credential: CredentialID, name: String)? {
        switch self {
        case .administered(let id, let name, _), .enrolled(let id, let name, _, _), .managed(_, let id, let name, _),
            .spent(let id, let name, _), .duress(let id, let name), .userSet(let id, let name, _, _):
            (id, name)
        case .granted, .refused, .refusalsSuppressed, .idleGrantsSuppressed, .securing, .outcome, .bolt, .door,
            .launched, .securedUnrecorded, .relaunched, .stateConfirmed, .bondDeleted, .bondExpired, .windowOpened,
            .windowClosed, .settingsChanged, .settingsManaged, .modeChanged, .timeSet, .reset, .operatorIs, .stopped,
            .clockStepped, .auditDoubted, .procedureRefused, .windowManaged, .lockedOut, .held, .opening,
            .operated:
            nil
        }
    }
}

/// What a manager does to an enrolment window. Kept by its number.
package enum WindowAct: UInt8, Sendable, CaseIterable {
    case opened = 1
    case closed = 2
}

/// Who manages over the air. By name too: who is removed stands nowhere else.
package struct AuditedManager: Hashable, Sendable {
    package var credential: CredentialID
    package var name: String

    package init(credential: CredentialID, name: String) {
        self.credential = credential
        self.name = name
    }

    init(_ credential: Credential) { self.init(credential: credential.id, name: credential.name) }
}

/// How an enrolment window closed. Kept by its number.
package enum WindowEnd: UInt8, Sendable, CaseIterable {
    case enrolled = 1
    case expired = 2
    case burnt = 3
    case tooManyFailures = 4
    case cancelled = 5
}

/// Why the rows that rights rest on are not believed, though each may have its MAC. Kept by its number.
package enum StateDoubt: UInt8, Sendable, CaseIterable {
    /// The file is older than what is remembered outside of it: an old copy stands in its place.
    case older = 1
    /// The file is in another state than the one that is remembered, and not in an older one.
    case other = 2
    /// What is remembered says that the file was sealed, and it is not.
    case unsealed = 3
    /// The file is sealed, and nothing is remembered of it.
    case anchorMissing = 4
    /// What is remembered cannot be read, or another machine wrote it.
    case anchorDamaged = 5
    case sealDamaged = 6
    /// Rows were taken away, or put back.
    case rowsDiffer = 7
}

/// What an operator does to a credential. Kept by its number.
package enum CredentialAct: UInt8, Sendable, CaseIterable {
    case disabled = 1
    case enabled = 2
    case removed = 3
    /// Its validity or its schedules are others.
    case scheduled = 4
}

/// One link of the audit's chain.
package struct AuditRecord: Hashable, Sendable {
    package var sequence: UInt64
    package var boot: BootID
    package var at: Instant
    /// Seconds since 1970, never before those of the record before; nil until the clock could be trusted for once.
    package var wallClockSeconds: Int64?
    package var event: AuditEvent
    /// SHA-256 of the previous record's hash followed by this record's octets.
    package var hash: [UInt8]
    package var holder: AuditHolder

    package init(
        sequence: UInt64, boot: BootID, at: Instant, wallClockSeconds: Int64?, event: AuditEvent, hash: [UInt8],
        holder: AuditHolder
    ) {
        self.sequence = sequence
        self.boot = boot
        self.at = at
        self.wallClockSeconds = wallClockSeconds
        self.event = event
        self.hash = hash
        self.holder = holder
    }
}

/// Where the chain has got to. The next record continues it.
package struct AuditHead: Hashable, Sendable {
    /// Of the last record; 0 before the first.
    package var sequence: UInt64
    package var hash: [UInt8]

    package static let empty = Self(
        sequence: 0, hash: SHA256.digest(Array("latch audit 1".utf8)))

    package init(sequence: UInt64, hash: [UInt8]) {
        self.sequence = sequence
        self.hash = hash
    }

    package init(_ last: AuditRecord) { self.init(sequence: last.sequence, hash: last.hash) }
}
