/// Everything that was seen of one case from outside: what operators were told, the air, and the bolt's journal. Instants are
/// boot time in nanoseconds.
struct CaseHistory: Sendable {
    /// A command as the key's operator saw it.
    struct Asked: Hashable, Sendable {
        var opens: Bool
        var at: UInt64
        /// How long the operator was ready to wait.
        var waitNanoseconds: UInt64
        /// When the key said that it had taken the command; nil when it did not.
        var takenAt: UInt64?
        var endedAt: UInt64?
        /// What the key said became of it; nil when it said nothing.
        var verdict: String?
        /// The key was killed while the operator waited, and so could not tell.
        var isBereft = false

        var isDone: Bool { verdict == "done" }
        var isAccepted: Bool { isDone || verdict == "accepted" }
        var isFailed: Bool { verdict != nil && !isAccepted }
        var deadline: UInt64 { at + waitNanoseconds }
    }

    /// What the lock told its operator of the bolt.
    struct BoltTold: Hashable, Sendable {
        var at: UInt64
        var isOpen: Bool
    }

    struct Restart: Hashable, Sendable {
        var at: UInt64
        /// When it was on the air again and answered; nil: never.
        var restoredAt: UInt64?
    }

    struct Settings: Hashable, Sendable {
        var relockNanoseconds: UInt64
        var travelNanoseconds: UInt64
    }

    var victim: Role
    var settings: Settings
    var began: UInt64 = 0
    var ended: UInt64 = 0
    /// nil in a case whose victim came to its end first.
    var killedAt: UInt64?
    var restart: Restart?
    var asked: [Asked] = []
    var boltTold: [BoltTold] = []
    var facts: [AirFact] = []
    /// Only this case's own.
    var movements: [Movement] = []
    /// Those that the house was prepared with: the lock may tell of the last.
    var earlierMovements: [Movement] = []
    /// Counters that were on the air when the house was prepared.
    var earlierCounters: Set<UInt32> = []
    /// What the capture or the journal shows to be damaged.
    var damage: [String] = []
    /// What kept the case from going on.
    var obstacle: String?

    /// Facts of the victim's next life.
    var factsOfNextLife: [AirFact] {
        guard let restart else { return [] }
        return facts.filter { $0.role == victim && $0.at >= restart.at }
    }

    var commandsOnAir: [(at: UInt64, command: AirCommand)] {
        facts.compactMap { fact in
            if fact.role == .key, case .command(let command) = fact.what { (fact.at, command) } else { nil }
        }
    }

    /// An opening that the lock may have committed and that had not moved the bolt when the lock was killed.
    var hasOpeningBetweenCommitAndAct: Bool {
        guard victim == .lock, let killedAt else { return false }
        return commandsOnAir.contains { sent in
            sent.at < killedAt && !movements.contains { $0.command == sent.command.challenge && $0.at < killedAt }
        }
    }
}

/// A promise that one kill at a system call is held against, in the words of the report.
enum CasePromise: String, CaseIterable, Sendable {
    case restored, advertisements, pendingConnections, bonds, subscriptions, oneMovement, commandedMovement, neverLate
    case relocks, obeys, counters, told, ends, integrity, thorough

    var text: String {
        switch self {
        case .restored: Invariant.restored.rawValue
        case .advertisements: Invariant.advertisements.rawValue
        case .pendingConnections: Invariant.pendingConnections.rawValue
        case .bonds: Invariant.bonds.rawValue
        case .subscriptions: Invariant.subscriptions.rawValue
        case .oneMovement: Invariant.oneMovement.rawValue
        case .commandedMovement: "The bolt opens for a command that was on the air, and locks for one or by itself"
        case .neverLate: Invariant.neverLate.rawValue
        case .relocks: "Every relock that falls due is made by its time"
        case .obeys: "A command behind the restart is accepted and moves the bolt"
        case .counters: Invariant.counters.rawValue
        case .told: "What is told has happened: the bolt's journal has it first"
        case .ends: "Every command that was taken has an end, by its time"
        case .integrity: "Journal and captures are whole"
        case .thorough: Invariant.thorough.rawValue
        }
    }

    /// Whether it says by when something has to have happened.
    var hasTime: Bool {
        switch self {
        case .restored, .neverLate, .relocks, .obeys, .ends, .thorough: true
        case .advertisements, .pendingConnections, .bonds, .subscriptions, .oneMovement, .commandedMovement, .counters,
            .told, .integrity:
            false
        }
    }
}

struct CaseViolation: Hashable, Sendable, CustomStringConvertible {
    var promise: CasePromise
    var text: String
    /// Whether a machine that stands still can break it, whatever the products do.
    var isOfTime: Bool

    init(promise: CasePromise, text: String, isOfTime: Bool? = nil) {
        self.promise = promise
        self.text = text
        self.isOfTime = isOfTime ?? promise.hasTime
    }

    var description: String { "\(promise.text): \(text)" }
}
