import DaemonControl
import Testing

@testable import Drills

/// A history in which every promise was kept, to be broken in one place by each test.
struct Sample {
    static func challenge(_ number: Int) -> String { hex([0, 0, 0, 0, 0, UInt8(number)]) }

    static func kept() -> History.Kept {
        History.Kept(
            bonds: ["bond 1/1"], subscriptions: ["configuration 1/1 of 9"], pendingConnections: [],
            advertisements: ["advertisement 1"])
    }

    static func good() -> History {
        var history = History(seed: 3, began: 1_000)
        history.aimedPhases = [.idle, .connected]
        history.killsAimedPerRole = 1
        for (index, role) in Role.allCases.enumerated() {
            let at = UInt64(index + 1) * 1_000_000_000
            history.kills.append(
                History.Kill(
                    role: role, at: at, phase: index == 0 ? .idle : .connected, means: "a moment", evidence: ""))
            var restart = History.Restart(
                role: role, at: at, restoreNanoseconds: 5_000_000, promised: kept(), found: kept())
            restart.advertisesAgain = role == .lock ? true : nil
            restart.commandFollowed = true
            restart.replaysFollowed = true
            history.restarts.append(restart)
        }
        for number in 0..<2 {
            let at = UInt64(number + 1) * 1_500_000_000
            let sequence = UInt64(number * 2 + 1)
            let command = AuditEntry.Command(
                counter: UInt32(number), operation: number == 0 ? 2 : 1, challenge: challenge(number))
            history.audit.append(AuditEntry(sequence: sequence, at: at, event: .granted(command)))
            history.audit.append(AuditEntry(sequence: sequence + 1, at: at, event: .outcome(of: sequence, .done)))
            history.movements.append(
                Movement(
                    sequence: UInt64(number + 1), at: at + 1_000, process: 1, intent: sequence,
                    command: challenge(number), kind: number == 0 ? .unlock : .lock))
            if let write = SignedWrite(
                Snoop.signedWrite(counter: UInt32(number), challenge: [0, 0, 0, 0, 0, UInt8(number)]), at: at)
            {
                history.signedWrites.append(write)
            }
            history.asked.append(History.Asked(opens: number == 0, at: at, answeredAt: at + 5, verdict: "done"))
        }
        history.attacks = [History.Attack(kind: .replay, began: 4_000_000_000, ended: 4_500_000_000, count: 2)]
        history.ended = 5_000_000_000
        return history
    }
}

@Suite("Invariants") struct InvariantTests {
    @Test("A good history has no violation, and its figures are right")
    func good() {
        let tally = Tally(Sample.good())
        #expect(tally.violations == [])
        #expect(tally.kills == 2)
        #expect(tally.commandsAccepted == 2)
        #expect(tally.commandsExecuted == 2)
        #expect(tally.replaysSent == 2)
        #expect(tally.restored == 2)
        #expect(tally.restore == Tally.Restore(p50: 5, p99: 5, max: 5))
    }

    @Test("Households are added up, and one that breaks a promise breaks it for all")
    func households() {
        let both = Tally([Sample.good(), Sample.good()])
        #expect(both.isOK)
        #expect(both.kills == 4)
        #expect(both.killsByPhase.values.reduce(0, +) == 4)
        #expect(both.commandsAccepted == 4)
        #expect(both.replaysSent == 4)
        #expect(both.restore == Tally.Restore(p50: 5, p99: 5, max: 5))
        var bad = Sample.good()
        bad.obstacle = "no answer"
        #expect(!Tally([Sample.good(), bad]).isOK)
        #expect(!Tally([bad, Sample.good()]).isOK)
    }

    struct Breach: CustomTestStringConvertible, Sendable {
        let name: String
        let invariant: Invariant
        let make: @Sendable (inout History) -> Void
        var testDescription: String { name }
    }

    static let breaches: [Breach] = [
        Breach(name: "an accepted command without an outcome", invariant: .oneOutcome) { $0.audit.removeLast() },
        Breach(name: "an accepted command with two outcomes", invariant: .oneOutcome) {
            $0.audit.append(AuditEntry(sequence: 9, at: 9, event: .outcome(of: 1, .aborted)))
        },
        Breach(name: "a movement without a grant", invariant: .grantedMovement) { $0.movements[1].intent = 99 },
        Breach(name: "a movement for another command than was granted", invariant: .grantedMovement) {
            $0.movements[1].command = Sample.challenge(77)
        },
        Breach(name: "an opening by the lock's own rules", invariant: .grantedMovement) {
            $0.audit.append(AuditEntry(sequence: 9, at: 9, event: .securing))
            $0.movements.append(Movement(sequence: 9, at: 9, process: 1, intent: 9, command: nil, kind: .unlock))
        },
        Breach(name: "one command, two movements", invariant: .oneMovement) {
            $0.movements.append($0.movements[1])
        },
        Breach(name: "an opening after its deadline", invariant: .neverLate) { $0.movements[0].at += 2_000_000_001 },
        Breach(name: "a command granted twice", invariant: .noReplay) {
            $0.audit.append(AuditEntry(sequence: 9, at: 9, event: $0.audit[0].event))
        },
        Breach(name: "a command granted while only the attacker speaks", invariant: .noReplay) {
            $0.attacks[0].began = $0.audit[0].at
        },
        Breach(name: "the key signs twice with one counter", invariant: .counters) {
            $0.signedWrites[1].counter = $0.signedWrites[0].counter
        },
        Breach(name: "the lock takes one counter twice", invariant: .counters) {
            let command = AuditEntry.Command(counter: 1, operation: 2, challenge: Sample.challenge(50))
            $0.audit.append(AuditEntry(sequence: 9, at: 9, event: .refused(command, result: 2)))
        },
        Breach(name: "a chain that does not go on", invariant: .auditChain) { $0.auditBreak = 4 },
        Breach(name: "an accepted command that the audit does not have", invariant: .auditComplete) {
            $0.asked.append(History.Asked(opens: true, at: 1, answeredAt: 2, verdict: "accepted"))
        },
        Breach(name: "a lost bond", invariant: .bonds) { $0.restarts[0].found.bonds = [] },
        Breach(name: "a lost subscription", invariant: .subscriptions) { $0.restarts[0].found.subscriptions = [] },
        Breach(name: "a lost pending connection", invariant: .pendingConnections) {
            $0.restarts[1].promised.pendingConnections = ["pending connection 1 to A"]
        },
        Breach(name: "a pending connection that is not tried again", invariant: .pendingConnections) {
            $0.restarts[1].connectsAgain = false
        },
        Breach(name: "a lost advertisement", invariant: .advertisements) { $0.restarts[0].found.advertisements = [] },
        Breach(name: "silence where there was advertising", invariant: .advertisements) {
            $0.restarts[0].advertisesAgain = false
        },
        Breach(name: "a damaged database", invariant: .integrity) { $0.damage = ["row 3 missing from index"] },
        Breach(name: "a process that does not come back", invariant: .restored) {
            $0.restarts[0].restoreNanoseconds = nil
        },
        Breach(name: "a phase without a kill", invariant: .thorough) { $0.aimedPhases.insert(.enrolment) },
        Breach(name: "a role that was not killed often enough", invariant: .thorough) { $0.killsAimedPerRole = 2 },
        Breach(name: "fewer commands than kills", invariant: .thorough) { $0.kills.append($0.kills[0]) },
        Breach(name: "a restart without a command after it", invariant: .thorough) {
            $0.restarts[0].commandFollowed = false
        },
        Breach(name: "a restart without replays after it", invariant: .thorough) {
            $0.restarts[1].replaysFollowed = false
        },
        Breach(name: "no signed write at all", invariant: .thorough) { $0.signedWrites = [] },
        Breach(name: "a drill that got stuck", invariant: .thorough) { $0.obstacle = "no answer" },
    ]

    @Test("Each breach is found, and blamed on its invariant", arguments: breaches)
    func found(breach: Breach) {
        var history = Sample.good()
        breach.make(&history)
        let tally = Tally(history)
        #expect(!tally.isOK)
        #expect(tally.violations.contains { $0.invariant == breach.invariant }, "\(tally.violations)")
    }

    @Test("Every invariant has a breach that shows it can be broken")
    func complete() {
        #expect(Set(Self.breaches.map(\.invariant)) == Set(Invariant.allCases))
    }

    @Test("A relock by the lock's own rules is no breach")
    func securing() {
        var history = Sample.good()
        history.audit.append(AuditEntry(sequence: 9, at: 9, event: .securing))
        history.movements.append(Movement(sequence: 9, at: 9, process: 1, intent: 9, command: nil, kind: .lock))
        #expect(Tally(history).isOK)
    }

    @Test("The JSON has the keys that programs read")
    func keys() {
        let names = Set(Tally(Sample.good()).json.members.map(\.name))
        #expect(
            names.isSuperset(of: [
                "kills", "kills_by_phase", "restored", "commands_accepted", "commands_executed", "commands_aborted",
                "lost", "duplicated", "opened_late", "replays_sent", "replayed_accepted", "subscriptions_lost",
                "pending_connections_lost", "bonds_lost", "integrity", "restore_ms",
            ]))
    }
}
