import BluetoothCore
import BluetoothHost
import LockProtocol

/// What the lock needs kept. LockPersistence implements it on SQLite, and the tests in memory.
///
/// From the launch on the machine is the truth, as far as it goes, and the store follows it at once: what the machine does not
/// have is read from the store when it is asked for.
package protocol LockStore: CommitParticipant {
    func load() throws -> LockSnapshot
    /// What a lock needs to be on the air: without credentials and without what is kept for bonds, but for the bond of the
    /// outstanding intent. The others are left to ``rows``, if there are any.
    func launch() throws -> LockSnapshot
    /// What a launch leaves; nil when it leaves nothing.
    var rows: (any LockRows)? { get }
    /// Takes a fact for the commit at the end of this iteration.
    func append(_ mutation: LockMutation)
    /// The first `limit` committed records with a sequence greater than `sequence`, in order. One that cannot be read is left out of them.
    func auditRecords(after sequence: UInt64, limit: Int) throws -> [AuditRecord]
    /// What was forgotten between the records and before them: the first `limit` cuts that end behind `sequence`, in order. One that cannot
    /// be read is left out of them.
    func auditCuts(after sequence: UInt64, limit: Int) throws -> [AuditCut]
    /// How many committed records with a sequence in `sequences` there are, of the first `limit`, and the last one's sequence. Of all, those
    /// among them that cannot be read.
    func auditCount(in sequences: ClosedRange<UInt64>, limit: Int) throws -> AuditCount
    /// The last commit's end of the chain; nil where nothing signs, or the signature cannot be read.
    func auditEnd() throws -> SignedAuditEnd?
}

extension LockStore {
    package func launch() throws -> LockSnapshot { try load() }
    package var rows: (any LockRows)? { nil }
}

/// What a lock's store keeps, row by row, for what a launch has left there.
///
/// Every answer counts what was handed to the store, on disk or not yet. A row that cannot be read is left out of it, and
/// whoever has the store hears of it. When the file itself fails, the answer is nothing, and the next commit throws.
package protocol LockRows: AnyObject {
    /// Whether it is known that credentials are not to be believed. Then no bond and no name has any. Whoever asks for some
    /// learns of a doubt about these.
    var isInDoubt: Bool { get }
    /// Whether the file itself has failed: an answer of nothing says nothing then.
    var hasFailed: Bool { get }
    func holder(of bond: UInt64) -> BondHolder
    /// Whether any credential names this bond, one that cannot be read among them.
    func isNamed(_ bond: UInt64) -> Bool
    /// In the order of their rows, as all lists here.
    func credentials(named name: String) -> [Credential]
    /// Of this user.
    func credentials(ofUser user: String) -> [Credential]
    /// The same, and what names this bond, for a list: that gives and takes nobody's rights, and so it waits for no proof that none is
    /// missing.
    func listed(ofUser user: String) -> [Credential]
    func listed(of bond: UInt64) -> [Credential]
    /// The next `limit` users' names behind this one, sorted by their octets, for a list as well; of one or the other of them there may be
    /// nothing that can be read.
    func users(after last: String?, limit: Int) -> [String]
    /// The rows of this user's credentials that cannot be read.
    func unreadableCredentials(ofUser user: String) -> [UnreadableCredential]
    /// The rows of credentials that have this name or this number, and cannot be read.
    func unreadableCredentials(named name: String) -> [UnreadableCredential]
    /// All of them.
    func unreadableCredentials() -> [UnreadableCredential]
    /// The next `limit` credentials behind `cursor`.
    func credentials(after cursor: CredentialID?, limit: Int) -> [Credential]
    /// Every name once, sorted.
    func credentialNames() -> [String]
}

extension LockRows {
    package var isInDoubt: Bool { false }
    package var hasFailed: Bool { false }
    package func listed(ofUser user: String) -> [Credential] { credentials(ofUser: user) }
    package func listed(of bond: UInt64) -> [Credential] { holder(of: bond).credentials }
    package func unreadableCredentials(named name: String) -> [UnreadableCredential] { [] }
    package func unreadableCredentials() -> [UnreadableCredential] { [] }
    package func unreadableCredentials(ofUser user: String) -> [UnreadableCredential] { [] }

    package func credentials(in scope: CredentialScope) -> [Credential] {
        switch scope {
        case .named(let name): credentials(named: name)
        case .ofUser(let user): credentials(ofUser: user)
        }
    }

    /// What a bond's holder has beside the credentials that it names.
    package func otherDevices(of holder: BondHolder) -> [Credential] {
        holder.credentials.filter { $0.kind != .ordinary }.flatMap { credentials(ofUser: $0.userName) }
            .filter { $0.bond != holder.bond }
    }

    func unreadableCredentials(in scope: CredentialScope) -> [UnreadableCredential] {
        switch scope {
        case .named(let name): unreadableCredentials(named: name)
        case .ofUser(let user): unreadableCredentials(ofUser: user)
        }
    }
}

extension Set where Element == String {
    /// A page of users' names: the next `limit` behind `last`, as SQLite orders text. No name is empty, so that nil is before all.
    package func page(after last: String?, limit: Int) -> [String] {
        let behind = filter { (last ?? "").utf8.lexicographicallyPrecedes($0.utf8) }
        return Array(behind.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.prefix(limit))
    }
}

/// What a credential's damaged row says, and nothing may rest on: whose it was nobody knows.
package struct UnreadableCredential: Hashable, Sendable {
    package let id: CredentialID
    package let bond: UInt64?

    package init(id: CredentialID, bond: UInt64?) {
        self.id = id
        self.bond = bond
    }
}

/// Everything that a lock keeps for one bond.
package struct BondHolder: Hashable, Sendable {
    package let bond: UInt64
    /// Those that name it: one, as a rule.
    package var credentials: [Credential] = []
    /// Of the same user, where an opening concerns all of the user's devices.
    package var otherDevices: [Credential] = []
    package var lastCommand: LastCommand?
    /// The first receipt counter that is certainly unused.
    package var receiptCounter: UInt32?
    package var lockout: Lockout?

    package init(bond: UInt64) { self.bond = bond }

    /// Takes what a fact says of this bond.
    package mutating func apply(_ mutation: LockMutation) {
        switch mutation {
        case .credential(let credential):
            credentials.removeAll { $0.id == credential.id }
            if credential.bond == bond { credentials.append(credential) }
        case .credentialRemoved(let id): credentials.removeAll { $0.id == id }
        case .lastCommand(bond, let command): lastCommand = command
        case .receiptCounters(bond, let reservedBelow): receiptCounter = reservedBelow
        case .lockout(bond, let lockout): self.lockout = lockout
        case .bondForgotten(bond):
            lockout = nil
            lastCommand = nil
            receiptCounter = nil
        default: break
        }
    }
}

/// Part of a count: so many records, up to the one that has this sequence. nil: there was none.
package struct AuditCount: Hashable, Sendable {
    package var records: Int
    package var last: UInt64?

    package init(records: Int, last: UInt64?) {
        self.records = records
        self.last = last
    }
}

/// How much of the audit is kept. Whoever may move the bolt can make records without end; the disk has one.
package enum AuditRetention {
    /// One more and one is forgotten: the oldest of the holder with the most (``AuditShares``). A house of 10,000 people makes so many
    /// in some weeks, a household in more than ten years. They take 150 MB of the disk.
    package static let recordsMaximum: UInt64 = 1_000_000
    /// Records that one commit forgets, where there are more than there should be.
    package static let forgottenAtOnceMaximum: UInt64 = 64
    /// Records for which a quiet lock has room: a command waits for a signature of each cut, and for the pages of what is forgotten.
    package static let roomAheadRecords: UInt64 = 64
    /// Records that are forgotten for that in one transaction.
    package static let forgottenAheadRecords: UInt64 = 16
}

/// One durable fact. Every case but `audit` says the new truth rather than a difference.
package enum LockMutation: Hashable, Sendable {
    case credential(Credential)
    case credentialRemoved(CredentialID)
    case settings(LockSettings)
    case toldTime(ToldTime)
    /// What is on record, and was not told yet.
    case owedAlarms([OwedAlarm])
    /// The one movement that is under way; nil when there is none.
    case intent(Intent?)
    case bolt(BoltRecord)
    /// nil: the bolt stays as it is.
    case relock(BootDeadline?)
    /// What holds the bolt open; nil: nothing.
    case hold(DoorHold?)
    /// When the open door is ajar; nil: it is not open, or never is.
    case ajar(BootDeadline?)
    case lastCommand(bond: UInt64, LastCommand)
    /// Receipt counters below this number are spent, or may be.
    case receiptCounters(bond: UInt64, reservedBelow: UInt32)
    /// What a bond has failed at; nil: nothing that counts.
    case lockout(bond: UInt64, Lockout?)
    /// A bond is gone, and what was kept under it.
    case bondForgotten(UInt64)
    /// Until when a bond may prove itself; nil once it has, or is gone.
    case unproven(bond: UInt64, BondLife?)
    /// The next record of the chain.
    case audit(AuditRecord)
    /// The record with this sequence is of a launch and the last one, and so many more launches have followed it.
    case relaunched(behind: UInt64, times: UInt64)
}

extension LockMutation {
    /// Whether somebody may do less, or more, from then on.
    var changesRights: Bool {
        switch self {
        case .credential, .credentialRemoved, .settings, .bondForgotten: true
        case .toldTime, .owedAlarms, .intent, .bolt, .relock, .hold, .ajar, .lastCommand, .receiptCounters, .lockout,
            .unproven, .audit, .relaunched:
            false
        }
    }
}

/// What is kept for the lock, as read at launch.
package struct LockSnapshot: Hashable, Sendable {
    package var credentials: [CredentialID: Credential] = [:]
    package var settings = LockSettings()
    package var toldTime: ToldTime?
    package var owedAlarms: [OwedAlarm] = []
    package var intent: Intent?
    package var bolt = BoltRecord()
    /// When the bolt is to go back by itself.
    package var relock: BootDeadline?
    package var hold: DoorHold?
    package var ajar: BootDeadline?
    /// By bond.
    package var lastCommands: [UInt64: LastCommand] = [:]
    /// By bond: the first receipt counter that is certainly unused.
    package var receiptCounters: [UInt64: UInt32] = [:]
    /// By bond.
    package var lockouts: [UInt64: Lockout] = [:]
    /// By bond.
    package var unproven: [UInt64: BondLife] = [:]
    package var auditHead = AuditHead.empty
    package var auditTail = AuditTail()
    /// nil: the audit's end is the one that was signed, or nothing signs.
    package var auditDoubt: AuditDoubt?

    package init() {}

    /// What a store that took `mutation` loads.
    package mutating func apply(_ mutation: LockMutation) {
        switch mutation {
        case .credential(let credential): credentials[credential.id] = credential
        case .credentialRemoved(let id): credentials[id] = nil
        case .settings(let settings): self.settings = settings
        case .toldTime(let told): toldTime = told
        case .owedAlarms(let alarms): owedAlarms = alarms
        case .intent(let intent): self.intent = intent
        case .bolt(let bolt): self.bolt = bolt
        case .relock(let relock): self.relock = relock
        case .hold(let hold): self.hold = hold
        case .ajar(let ajar): self.ajar = ajar
        case .lastCommand(let bond, let command): lastCommands[bond] = command
        case .receiptCounters(let bond, let reservedBelow): receiptCounters[bond] = reservedBelow
        case .lockout(let bond, let lockout): lockouts[bond] = lockout
        case .bondForgotten(let bond):
            lockouts[bond] = nil
            lastCommands[bond] = nil
            receiptCounters[bond] = nil
        case .unproven(let bond, let life): unproven[bond] = life
        case .audit(let record):
            auditHead = AuditHead(record)
            auditTail = AuditTail(record)
            auditDoubt = nil
        case .relaunched(let sequence, let times): if sequence == auditHead.sequence { auditTail.relaunches = times }
        }
    }
}
