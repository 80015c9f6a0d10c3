import BluetoothCore
import BluetoothHost
import LockProtocol

/// What the lock needs kept. LockPersistence implements it on SQLite, and the tests in memory.
///
/// Reads happen once, at launch, except the audit's; from then on the machine is the truth and the store follows it.
package protocol LockStore: CommitParticipant {
    func load() throws -> LockSnapshot
    /// Takes a fact for the commit at the end of this iteration.
    func append(_ mutation: LockMutation)
    /// Committed records with a sequence greater than `sequence`, in order, at most `limit`.
    func auditRecords(after sequence: UInt64, limit: Int) throws -> [AuditRecord]
    /// The head of what was forgotten: the first record that is kept continues the chain from here.
    func auditHorizon() throws -> AuditHead
}

/// How much of the audit is kept. Whoever may move the bolt can make records without end; the disk has one.
package enum AuditRetention {
    /// One more and the oldest is forgotten. A household makes so many in more than a year.
    package static let recordsMaximum: UInt64 = 100_000
    /// Records that one commit forgets, where there are more than there should be.
    package static let forgottenAtOnceMaximum: UInt64 = 64
}

/// One durable fact. Every case but `audit` says the new truth rather than a difference.
package enum LockMutation: Hashable, Sendable {
    case credential(Credential)
    case credentialRemoved(CredentialID)
    case settings(LockSettings)
    /// The one movement that is under way; nil when there is none.
    case intent(Intent?)
    case bolt(BoltRecord)
    /// nil: the bolt stays as it is.
    case relock(BootDeadline?)
    case lastCommand(bond: UInt64, LastCommand)
    /// Receipt counters below this number are spent, or may be.
    case receiptCounters(bond: UInt64, reservedBelow: UInt32)
    /// A bond is gone, and what was kept under it.
    case bondForgotten(UInt64)
    /// The next record of the chain.
    case audit(AuditRecord)
}

/// Everything kept for the lock, as read at launch.
package struct LockSnapshot: Hashable, Sendable {
    package var credentials: [CredentialID: Credential] = [:]
    package var settings = LockSettings()
    package var intent: Intent?
    package var bolt = BoltRecord()
    /// When the bolt is to go back by itself.
    package var relock: BootDeadline?
    /// By bond.
    package var lastCommands: [UInt64: LastCommand] = [:]
    /// By bond: the first receipt counter that is certainly unused.
    package var receiptCounters: [UInt64: UInt32] = [:]
    package var auditHead = AuditHead.empty

    package init() {}

    /// What a store that took `mutation` loads.
    package mutating func apply(_ mutation: LockMutation) {
        switch mutation {
        case .credential(let credential): credentials[credential.id] = credential
        case .credentialRemoved(let id): credentials[id] = nil
        case .settings(let settings): self.settings = settings
        case .intent(let intent): self.intent = intent
        case .bolt(let bolt): self.bolt = bolt
        case .relock(let relock): self.relock = relock
        case .lastCommand(let bond, let command): lastCommands[bond] = command
        case .receiptCounters(let bond, let reservedBelow): receiptCounters[bond] = reservedBelow
        case .bondForgotten(let bond):
            lastCommands[bond] = nil
            receiptCounters[bond] = nil
        case .audit(let record): auditHead = AuditHead(record)
        }
    }
}
