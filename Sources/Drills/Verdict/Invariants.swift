/// A promise that was not kept.
struct Violation: Hashable, Sendable {
    var invariant: Invariant
    var text: String
}

/// What docs/RESTORATION.md promises, one by one, in the words of the report.
enum Invariant: String, CaseIterable, Sendable {
    case oneOutcome = "Every accepted command has exactly one audited outcome"
    case grantedMovement = "No bolt movement without a live grant"
    case oneMovement = "No command moves the bolt twice"
    case neverLate = "No door opens later than it was meant to"
    case noReplay = "Nothing replayed, altered or delayed is accepted"
    case counters = "No counter is used twice"
    case auditChain = "The audit's chain is unbroken"
    case auditComplete = "No accepted command is missing from the audit"
    case bonds = "Every bond outlives every kill"
    case subscriptions = "Every subscription outlives every kill"
    case pendingConnections = "Every pending connection outlives every kill, and is tried again"
    case advertisements = "Every advertisement outlives every kill, and is on the air again"
    case integrity = "Databases, journal and capture are whole"
    case restored = "Every restart comes back"
    case thorough = "The drill was thorough"
}

/// Holds a history against every invariant. Pure: the same history has the same violations.
struct Invariants {
    let history: History

    static let openingLifeNanoseconds: UInt64 = 2_000_000_000

    static func violations(of history: History) -> [Violation] {
        let invariants = Self(history: history)
        return invariants.outcomes + invariants.movements + invariants.late + invariants.replays + invariants.counters
            + invariants.audit + invariants.kept + invariants.damage + invariants.thoroughness
    }

    var granted: [(entry: AuditEntry, command: AuditEntry.Command)] {
        history.audit.compactMap { entry in
            if case .granted(let command) = entry.event { (entry, command) } else { nil }
        }
    }

    var outcomesBySequence: [UInt64: [AuditEntry.Outcome]] {
        history.audit.reduce(into: [:]) { outcomes, entry in
            if case .outcome(let sequence, let outcome) = entry.event {
                outcomes[sequence, default: []].append(outcome)
            }
        }
    }

    /// Accepted commands without an outcome.
    var lost: [UInt64] {
        let outcomes = outcomesBySequence
        return granted.map(\.entry.sequence).filter { outcomes[$0] == nil }
    }

    private var outcomes: [Violation] {
        let outcomes = outcomesBySequence
        let twice = outcomes.filter { $0.value.count > 1 }.keys.sorted()
        return lost.map { Violation(invariant: .oneOutcome, text: "command \($0) of the audit has no outcome") }
            + twice.map { Violation(invariant: .oneOutcome, text: "record \($0) of the audit has several outcomes") }
    }

    private var movements: [Violation] {
        let commands = Dictionary(granted.map { ($0.entry.sequence, $0) }, uniquingKeysWith: { first, _ in first })
        let securing = Set(history.audit.filter { $0.event == .securing }.map(\.sequence))
        var found: [Violation] = []
        for movement in history.movements {
            let isGranted =
                if let challenge = movement.command {
                    commands[movement.intent]?.command.challenge == challenge
                } else {
                    securing.contains(movement.intent) && !movement.opens
                }
            if !isGranted {
                found.append(
                    Violation(
                        invariant: .grantedMovement,
                        text: "movement \(movement.sequence) (\(movement.kind.rawValue)) has no grant"))
            }
        }
        return found
            + duplicated.map { Violation(invariant: .oneMovement, text: "intent \($0) moved the bolt more than once") }
    }

    /// Intents with more than one movement.
    var duplicated: [UInt64] {
        Dictionary(grouping: history.movements, by: \.intent).filter { $0.value.count > 1 }.keys.sorted()
    }

    /// Openings that were made after their deadline.
    var openedLate: [Movement] {
        let decided = Dictionary(
            granted.map { ($0.entry.sequence, $0.entry.at) }, uniquingKeysWith: { first, _ in first })
        return history.movements.filter { movement in
            guard movement.opens, let at = decided[movement.intent] else { return false }
            return movement.at > at + Self.openingLifeNanoseconds
        }
    }

    private var late: [Violation] {
        openedLate.map { Violation(invariant: .neverLate, text: "movement \($0.sequence) opened after its deadline") }
    }

    /// Grants that an attacker got: a command granted again, or granted while only the attacker spoke.
    var replayedAccepted: [UInt64] {
        var seen: Set<String> = []
        return granted.filter { grant in
            let isRepeated = !seen.insert(grant.command.challenge).inserted
            let isDuringAttack = history.attacks.contains { $0.began <= grant.entry.at && grant.entry.at <= $0.ended }
            return isRepeated || isDuringAttack
        }.map(\.entry.sequence)
    }

    private var replays: [Violation] {
        replayedAccepted.map {
            Violation(invariant: .noReplay, text: "command \($0) of the audit was granted to a replaying attacker")
        }
    }

    private var counters: [Violation] {
        var found: [Violation] = []
        var sent: [UInt32: [UInt8]] = [:]
        for write in history.signedWrites {
            if sent[write.counter] != nil {
                found.append(
                    Violation(invariant: .counters, text: "the key signed twice with counter \(write.counter)"))
            }
            sent[write.counter] = write.octets
        }
        var taken: Set<UInt32> = []
        for entry in history.audit {
            let command: AuditEntry.Command
            switch entry.event {
            case .granted(let granted): command = granted
            case .refused(let refused, _): command = refused
            case .securing, .outcome, .other: continue
            }
            guard let counter = command.counter, !taken.insert(counter).inserted else { continue }
            found.append(Violation(invariant: .counters, text: "the lock took counter \(counter) twice"))
        }
        return found
    }

    private var audit: [Violation] {
        var found: [Violation] = []
        if let sequence = history.auditBreak {
            found.append(Violation(invariant: .auditChain, text: "record \(sequence) does not continue the chain"))
        }
        let confirmed = history.asked.count { $0.isAccepted }
        if granted.count < confirmed {
            found.append(
                Violation(
                    invariant: .auditComplete,
                    text: "the key was told of \(confirmed) accepted commands, the audit has \(granted.count)"))
        }
        return found
    }

    private var damage: [Violation] {
        history.damage.map { Violation(invariant: .integrity, text: $0) }
    }
}

extension History.Asked {
    var isAccepted: Bool { verdict == "done" || verdict == "accepted" }
}

// MARK: What outlives a kill

extension Invariants {
    private func lost(_ what: KeyPath<History.Kept, Set<String>>) -> [(restart: Int, item: String)] {
        history.restarts.enumerated().flatMap { index, restart in
            restart.promised[keyPath: what].subtracting(restart.found[keyPath: what]).sorted()
                .map { (index + 1, $0) }
        }
    }

    var bondsLost: Int { lost(\.bonds).count }
    var subscriptionsLost: Int { lost(\.subscriptions).count }
    var pendingConnectionsLost: Int {
        lost(\.pendingConnections).count + history.restarts.count { $0.connectsAgain == false }
    }

    private var kept: [Violation] {
        let kinds: [(Invariant, KeyPath<History.Kept, Set<String>>)] = [
            (.bonds, \.bonds), (.subscriptions, \.subscriptions), (.pendingConnections, \.pendingConnections),
            (.advertisements, \.advertisements),
        ]
        var found = kinds.flatMap { invariant, what in
            lost(what).map { Violation(invariant: invariant, text: "restart \($0.restart): \($0.item) is gone") }
        }
        for (index, restart) in history.restarts.enumerated() {
            let name = "restart \(index + 1) (\(restart.role.rawValue))"
            if restart.connectsAgain == false {
                found.append(Violation(invariant: .pendingConnections, text: "\(name) does not connect again"))
            }
            if restart.advertisesAgain == false {
                found.append(Violation(invariant: .advertisements, text: "\(name) does not advertise again"))
            }
            if restart.restoreNanoseconds == nil {
                found.append(Violation(invariant: .restored, text: "\(name) did not come back"))
            }
        }
        return found
    }

    /// A drill that did not do its work proves nothing.
    private var thoroughness: [Violation] {
        var found: [String] = []
        let missed = history.aimedPhases.subtracting(history.kills.map(\.phase))
        found += Phase.allCases.filter(missed.contains).map { "nobody was killed \($0.title)" }
        for role in Role.allCases {
            let count = history.kills.count { $0.role == role }
            if count < history.killsAimedPerRole {
                found.append("the \(role.rawValue) was killed \(count) times, not \(history.killsAimedPerRole)")
            }
        }
        if granted.count < history.kills.count {
            found.append("\(granted.count) accepted commands are fewer than \(history.kills.count) kills")
        }
        for (index, restart) in history.restarts.enumerated() where restart.followsKill {
            if !restart.commandFollowed { found.append("no accepted command followed restart \(index + 1)") }
            if !restart.replaysFollowed { found.append("no replays followed restart \(index + 1)") }
        }
        if history.signedWrites.isEmpty { found.append("no signed write was seen on the air") }
        if let obstacle = history.obstacle { found.append(obstacle) }
        return found.map { Violation(invariant: .thorough, text: $0) }
    }
}
