/// Everything that a drill saw, from outside. Instants are boot time in nanoseconds.
struct History: Sendable {
    struct Kill: Hashable, Sendable {
        var role: Role
        var at: UInt64
        /// As the evidence says, which need not be what was aimed at.
        var phase: Phase
        /// `a moment` or `fdatasync number 3`.
        var means: String
        var evidence: String
    }

    struct Restart: Hashable, Sendable {
        var role: Role
        var at: UInt64
        /// Until the role was on the air again as it had been; nil: never.
        var restoreNanoseconds: UInt64?
        /// What was promised to outlive the kill, and what was there after it.
        var promised: Kept
        var found: Kept
        /// nil when it was not to be seen.
        var advertisesAgain: Bool?
        var connectsAgain: Bool?
        /// A kill, rather than an orderly end, came before.
        var followsKill = true
        /// An accepted command came after it.
        var commandFollowed = false
        /// Everything that was ever signed was replayed after it.
        var replaysFollowed = false
    }

    /// What a database keeps for those who come back.
    struct Kept: Hashable, Sendable {
        var bonds: Set<String> = []
        var subscriptions: Set<String> = []
        var pendingConnections: Set<String> = []
        var advertisements: Set<String> = []
    }

    struct Attack: Hashable, Sendable {
        enum Kind: String, Sendable { case replay, flipped, delayed }
        var kind: Kind
        var began: UInt64
        var ended: UInt64
        var count: Int
    }

    /// A command as whoever asked for it saw it.
    struct Asked: Hashable, Sendable {
        var opens: Bool
        var at: UInt64
        var answeredAt: UInt64?
        /// What the key said became of it; nil when nobody was left to say.
        var verdict: String?
    }

    struct LinkSpan: Hashable, Sendable {
        var began: UInt64
        var ended: UInt64?
        var isAttacker: Bool
    }

    var seed: UInt64
    var began: UInt64
    var ended: UInt64 = 0
    var aimedPhases: Set<Phase> = []
    var killsAimedPerRole = 0
    var kills: [Kill] = []
    var restarts: [Restart] = []
    var asked: [Asked] = []
    var links: [LinkSpan] = []
    var attacks: [Attack] = []
    var movements: [Movement] = []
    var audit: [AuditEntry] = []
    /// The first record that does not continue the audit's chain.
    var auditBreak: UInt64?
    var signedWrites: [SignedWrite] = []
    /// What SQLite, the journal or the capture says is damaged.
    var damage: [String] = []
    /// What kept the drill from going on.
    var obstacle: String?

    init(seed: UInt64, began: UInt64) {
        self.seed = seed
        self.began = began
    }

    var replaysSent: Int { attacks.reduce(0) { $1.kind == .replay ? $0 + $1.count : $0 } }
}

extension History {
    /// All households on one line of time, to be drawn. What they are held against is each one's own.
    init(drawing histories: [History]) {
        self = histories.first ?? History(seed: 0, began: 0)
        for next in histories.dropFirst() {
            ended = max(ended, next.ended)
            kills += next.kills
            restarts += next.restarts
            asked += next.asked
            links += next.links
            attacks += next.attacks
            movements += next.movements
        }
    }
}
