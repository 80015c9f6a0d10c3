import DaemonControl

/// A drill in figures.
struct Tally: Equatable, Sendable {
    struct Restore: Equatable, Sendable {
        var p50: UInt64 = 0
        var p99: UInt64 = 0
        var max: UInt64 = 0

        init(p50: UInt64 = 0, p99: UInt64 = 0, max: UInt64 = 0) {
            self.p50 = p50
            self.p99 = p99
            self.max = max
        }

        init(_ milliseconds: [UInt64]) {
            let sorted = milliseconds.sorted()
            func percentile(_ share: Int) -> UInt64 {
                sorted.isEmpty ? 0 : sorted[Swift.min(sorted.count * share / 100, sorted.count - 1)]
            }
            self.init(p50: percentile(50), p99: percentile(99), max: sorted.last ?? 0)
        }

        var json: JSONValue { ["p50": JSONValue(p50), "p99": JSONValue(p99), "max": JSONValue(max)] }
    }

    var seed: UInt64
    var kills: Int
    var killsByPhase: [Phase: Int]
    var restored: Int
    var commandsAccepted: Int
    var commandsExecuted: Int
    var commandsAborted: Int
    var lost: Int
    var duplicated: Int
    var openedLate: Int
    var replaysSent: Int
    var replayedAccepted: Int
    var subscriptionsLost: Int
    var pendingConnectionsLost: Int
    var bondsLost: Int
    var isWhole: Bool
    var restore: Restore
    var violations: [Violation]

    var isOK: Bool { violations.isEmpty }

    /// Of all households together.
    init(_ histories: [History]) {
        let each = histories.map { Self($0) }
        self.init(histories.first ?? History(seed: 0, began: 0))
        for next in each.dropFirst() {
            kills += next.kills
            killsByPhase.merge(next.killsByPhase, uniquingKeysWith: +)
            restored += next.restored
            commandsAccepted += next.commandsAccepted
            commandsExecuted += next.commandsExecuted
            commandsAborted += next.commandsAborted
            lost += next.lost
            duplicated += next.duplicated
            openedLate += next.openedLate
            replaysSent += next.replaysSent
            replayedAccepted += next.replayedAccepted
            subscriptionsLost += next.subscriptionsLost
            pendingConnectionsLost += next.pendingConnectionsLost
            bondsLost += next.bondsLost
            isWhole = isWhole && next.isWhole
            violations += next.violations
        }
        restore = Restore(histories.flatMap { Self.restoreMilliseconds($0) })
    }

    init(_ history: History) {
        let invariants = Invariants(history: history)
        violations = Invariants.violations(of: history)
        seed = history.seed
        kills = history.kills.count
        killsByPhase = Dictionary(grouping: history.kills, by: \.phase).mapValues(\.count)
        restored = history.restarts.count { $0.followsKill && $0.restoreNanoseconds != nil }
        let outcomes = invariants.granted.compactMap { invariants.outcomesBySequence[$0.entry.sequence]?.first }
        commandsAccepted = invariants.granted.count
        commandsExecuted = outcomes.count { $0 == .done }
        commandsAborted = outcomes.count { $0 != .done }
        lost = invariants.lost.count
        duplicated = invariants.duplicated.count
        openedLate = invariants.openedLate.count
        replaysSent = history.replaysSent
        replayedAccepted = invariants.replayedAccepted.count
        subscriptionsLost = invariants.subscriptionsLost
        pendingConnectionsLost = invariants.pendingConnectionsLost
        bondsLost = invariants.bondsLost
        isWhole = history.damage.isEmpty && history.auditBreak == nil
        restore = Restore(Self.restoreMilliseconds(history))
    }

    private static func restoreMilliseconds(_ history: History) -> [UInt64] {
        history.restarts.filter(\.followsKill).compactMap(\.restoreNanoseconds).map { ($0 + 999_999) / 1_000_000 }
    }

    var json: JSONObject {
        var phases = JSONObject()
        for phase in Phase.allCases { phases[phase.rawValue] = JSONValue(killsByPhase[phase] ?? 0) }
        return [
            "ok": .bool(isOK), "seed": JSONValue(seed), "kills": JSONValue(kills), "kills_by_phase": .object(phases),
            "restored": JSONValue(restored), "commands_accepted": JSONValue(commandsAccepted),
            "commands_executed": JSONValue(commandsExecuted), "commands_aborted": JSONValue(commandsAborted),
            "lost": JSONValue(lost), "duplicated": JSONValue(duplicated), "opened_late": JSONValue(openedLate),
            "replays_sent": JSONValue(replaysSent), "replayed_accepted": JSONValue(replayedAccepted),
            "subscriptions_lost": JSONValue(subscriptionsLost),
            "pending_connections_lost": JSONValue(pendingConnectionsLost), "bonds_lost": JSONValue(bondsLost),
            "integrity": .string(isWhole ? "ok" : "damaged"),
            "restore_ms": restore.json,
            "violations": .array(violations.map { .string("\($0.invariant.rawValue): \($0.text)") }),
        ]
    }

    var jsonText: String { JSONValue.object(json).text }

    var summary: String {
        let phases = Phase.allCases.map { "\(killsByPhase[$0] ?? 0) \($0.title)" }.joined(separator: ", ")
        var lines = [
            "kills                 \(kills): \(phases)",
            "restored              \(restored), in \(restore.p50) ms (p50), \(restore.p99) ms (p99), \(restore.max) ms (max)",
            "commands              \(commandsAccepted) accepted: \(commandsExecuted) executed, \(commandsAborted) aborted or "
                + "unknown, \(lost) lost, \(duplicated) done twice, \(openedLate) opened late",
            "replays               \(replaysSent) sent, \(replayedAccepted) accepted",
            "lost                  \(bondsLost) bonds, \(subscriptionsLost) subscriptions, \(pendingConnectionsLost) pending "
                + "connections",
            "integrity             \(isWhole ? "ok" : "damaged")",
            "seed                  \(seed)",
        ]
        lines += violations.prefix(20).map { "VIOLATION             \($0.invariant.rawValue): \($0.text)" }
        if violations.count > 20 { lines.append("                      and \(violations.count - 20) more") }
        lines.append(isOK ? "ok: every promise held" : "FAILED")
        return lines.joined(separator: "\n") + "\n"
    }
}
