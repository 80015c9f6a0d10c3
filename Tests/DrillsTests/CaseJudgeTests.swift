import Testing

@testable import Drills

/// Cases in which every promise was kept, to be broken in one place by each test.
enum SampleCase {
    static let second: UInt64 = 1_000_000_000
    static func challenge(_ number: Int) -> String { hex([0, 0, 0, 0, 0, UInt8(number)]) }

    static func command(_ number: Int, at: UInt64) -> AirFact {
        AirFact(
            at: at, role: .key, life: 2,
            what: .command(AirCommand(challenge: challenge(number), counter: UInt32(number))))
    }

    static func movement(_ sequence: UInt64, at: UInt64, _ number: Int?) -> Movement {
        Movement(
            sequence: sequence, at: at, process: 1, intent: sequence, command: number.map(challenge),
            kind: number == nil ? .lock : .unlock)
    }

    private static let end = second / 10

    /// An unlock that is carried out, its relock, the kill, the restart, and another unlock.
    static func good(_ victim: Role) -> CaseHistory {
        let settings = CaseHistory.Settings(relockNanoseconds: second, travelNanoseconds: second / 20)
        var history = CaseHistory(victim: victim, settings: settings)
        history.began = second
        history.killedAt = 3 * second
        history.restart = CaseHistory.Restart(at: 3 * second, restoredAt: 3 * second + second / 50)
        for (number, at) in [(1, second + end), (2, 4 * second)] {
            history.asked.append(
                CaseHistory.Asked(
                    opens: true, at: at, waitNanoseconds: 5 * second, takenAt: at + 1, endedAt: at + 2 * end,
                    verdict: "done"))
            history.facts += [
                AirFact(at: at + end - 2, role: .key, life: 2, what: .createConnection),
                AirFact(at: at + end - 1, role: .key, life: 2, what: .linkUp),
                AirFact(at: at + end, role: .key, life: 2, what: .value(octets: [1], isFromHost: false)),
                command(number, at: at + end),
            ]
            history.movements.append(movement(UInt64(number * 2), at: at + end + 1, number))
            history.boltTold.append(CaseHistory.BoltTold(at: at + end + 2, isOpen: true))
        }
        history.facts.insert(
            AirFact(at: 3 * second + 9, role: victim, life: 3, what: victim == .lock ? .advertising : .broughtUp), at: 4
        )
        history.movements.insert(movement(3, at: 2 * second + 2 * end, nil), at: 1)
        history.ended = 4 * second + 3 * end
        return history
    }

    /// A key that was killed when it had taken a command, and before that left it.
    static func interruptedKey() -> CaseHistory {
        var history = good(.key)
        history.asked.insert(
            CaseHistory.Asked(
                opens: true, at: 3 * second - end, waitNanoseconds: 5 * second, takenAt: 3 * second - end + 1,
                isBereft: true), at: 1)
        return history
    }

    /// A lock that tells an end of a command behind its restart, by a second receipt, and moves nothing for it.
    static func unmoved(_ victim: Role, verdict: String?) -> CaseHistory {
        var history = good(victim)
        let at = 3 * second + 2 * end
        history.asked.insert(
            CaseHistory.Asked(
                opens: true, at: at, waitNanoseconds: 5 * second, takenAt: at + 1,
                endedAt: verdict.map { _ in at + end },
                verdict: verdict, isBereft: verdict == nil), at: 1)
        let receipt = value([UInt8](repeating: 7, count: 19), at: at + 4)
        let next = history.facts.lastIndex { $0.what == .createConnection } ?? 0
        history.facts.insert(
            contentsOf: [
                AirFact(at: at + 2, role: .key, life: 2, what: .linkUp), command(3, at: at + 3), receipt, receipt,
            ],
            at: next)
        return history
    }

    static func value(_ octets: [UInt8], at: UInt64) -> AirFact {
        AirFact(at: at, role: .lock, life: 1, what: .value(octets: octets, isFromHost: true))
    }
}

@Suite("The judge of one kill") struct CaseJudgeTests {
    @Test("A case in which all was kept has no violation", arguments: Role.allCases)
    func good(victim: Role) {
        #expect(CaseJudge.violations(of: SampleCase.good(victim)) == [])
        var unharmed = SampleCase.good(victim)
        (unharmed.killedAt, unharmed.restart) = (nil, nil)
        #expect(CaseJudge.violations(of: unharmed) == [])
    }

    @Test("A command that the key had taken and not sent makes it connect again")
    func pending() {
        #expect(CaseJudge.violations(of: SampleCase.interruptedKey()) == [])
    }

    struct Breach: CustomTestStringConvertible, Sendable {
        let name: String
        let promise: CasePromise
        var victim = Role.lock
        let make: @Sendable (inout CaseHistory) -> Void
        var testDescription: String { name }
    }

    private static let second = SampleCase.second
    private static let unlocked: [UInt8] = [3, 1, 0, 0, 0, 0, 0]
    private static func keyStatus(_ challenge: UInt8) -> [UInt8] {
        [0x20, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, challenge, 0, 0, 0, 0, 0, 3]
    }

    static let breaches: [Breach] = [
        Breach(name: "a process that does not come back", promise: .restored) { $0.restart?.restoredAt = nil },
        Breach(name: "a process that is not started again", promise: .restored) { $0.restart = nil },
        Breach(name: "a process that comes back behind all patience", promise: .restored) {
            $0.restart = CaseHistory.Restart(at: 3 * second, restoredAt: 3 * second + CaseJudge.patienceNanoseconds + 1)
        },
        Breach(name: "silence where there was advertising", promise: .advertisements) {
            $0.facts.removeAll { $0.what == .advertising }
        },
        Breach(name: "a command that was taken and is not tried again", promise: .pendingConnections, victim: .key) {
            $0 = SampleCase.interruptedKey()
            let restart = $0.restart?.at ?? 0
            $0.facts.removeAll { $0.what == .createConnection && $0.at >= restart }
        },
        Breach(name: "a new bond", promise: .bonds) {
            $0.facts.append(AirFact(at: 3 * second, role: .key, life: 2, what: .pairing))
        },
        Breach(name: "a subscription that is made anew", promise: .subscriptions, victim: .key) {
            $0.facts.append(AirFact(at: 3 * second, role: .key, life: 3, what: .configuration(handle: 9, value: 1)))
        },
        Breach(name: "a link without a notification", promise: .subscriptions) {
            $0.facts.removeAll { $0.what == .value(octets: [1], isFromHost: false) && $0.at > 3 * second }
        },
        Breach(name: "one command, two movements", promise: .oneMovement) {
            $0.movements.append(SampleCase.movement(9, at: $0.ended, 2))
        },
        Breach(name: "a movement for a command that nobody sent", promise: .commandedMovement) {
            $0.movements.append(SampleCase.movement(9, at: $0.ended, 77))
        },
        Breach(name: "a movement before its command is sent", promise: .commandedMovement) {
            $0.movements[0].at -= 2 * CaseJudge.clockNanoseconds
        },
        Breach(name: "an opening for nobody", promise: .commandedMovement) {
            $0.movements.append(
                Movement(sequence: 9, at: $0.ended, process: 1, intent: 9, command: nil, kind: .unlock))
        },
        Breach(name: "an opening behind its deadline", promise: .neverLate) {
            $0.movements[2].at += Invariants.openingLifeNanoseconds + CaseJudge.slackNanoseconds
        },
        Breach(name: "an opening behind its user's time, of a command that left in time", promise: .neverLate) {
            $0.asked[1].waitNanoseconds = second / 10
            $0.movements[2].at += CaseJudge.leavingNanoseconds + 1
        },
        Breach(name: "a command that leaves behind its user's time", promise: .neverLate) {
            $0.asked[0].waitNanoseconds = 0
            $0.facts = $0.facts.map { fact in
                var later = fact
                if case .command(let command) = fact.what, command.counter == 1 {
                    later.at += CaseJudge.leavingNanoseconds
                }
                return later
            }
            $0.movements[0].at += CaseJudge.leavingNanoseconds
        },
        Breach(name: "a relock that is not made", promise: .relocks) {
            $0.movements.remove(at: 1)
            $0.ended += second
        },
        Breach(name: "a relock that is made late", promise: .relocks) {
            $0.movements[1].at = $0.movements[0].at + second + CaseJudge.slackNanoseconds + 1
            ($0.killedAt, $0.restart) = (nil, nil)
        },
        Breach(name: "a relock that the next life owes and does not make", promise: .relocks) {
            $0.killedAt = $0.movements[0].at + 1
            $0.restart = CaseHistory.Restart(at: 2 * second, restoredAt: 2 * second)
            $0.movements[1].at = 4 * second
        },
        Breach(name: "no command behind the restart", promise: .obeys) { $0.asked.removeLast() },
        Breach(name: "a command behind the restart that is refused", promise: .obeys) {
            $0.asked[1].verdict = "refused: busy"
        },
        Breach(name: "a command behind the restart that moves nothing", promise: .obeys) { $0.movements.removeLast() },
        Breach(name: "a counter that is used twice", promise: .counters) {
            $0.facts.append(
                AirFact(
                    at: $0.ended, role: .key, life: 3,
                    what: .command(AirCommand(challenge: SampleCase.challenge(3), counter: 2))))
        },
        Breach(name: "a counter of before the case", promise: .counters) { $0.earlierCounters = [1] },
        Breach(name: "done without a movement", promise: .told) { $0.movements.removeFirst(2) },
        Breach(name: "done before its movement", promise: .told) {
            $0.movements[0].at = ($0.asked[0].endedAt ?? 0) + 1
        },
        Breach(name: "accepted, and never moved", promise: .told) {
            $0.asked[0].verdict = "accepted"
            $0.movements.removeFirst(2)
        },
        Breach(name: "a lock that tells that it is open, and is not yet", promise: .told) {
            $0.boltTold[0].at = $0.movements[0].at - 1
        },
        Breach(name: "a Lock State that tells an end too early", promise: .told) {
            $0.facts.append(SampleCase.value([3, 1, 0, 0xAB, 0, 0, 0], at: $0.ended))
        },
        Breach(name: "a Key Status that tells an end too early", promise: .told) {
            $0.facts.insert(SampleCase.value(keyStatus(2), at: 3 * second + 10), at: 5)
        },
        Breach(name: "a second receipt before the movement", promise: .told) {
            let receipt = SampleCase.value([UInt8](repeating: 7, count: 19), at: $0.movements[2].at + 1)
            $0.facts += [receipt, receipt]
            $0.movements[2].at += 2 * CaseJudge.clockNanoseconds
            $0.boltTold = []
        },
        Breach(name: "a second receipt before the movement of what its user was told had failed", promise: .told) {
            $0 = SampleCase.unmoved(.lock, verdict: "refused: aborted")
            $0.movements.insert(SampleCase.movement(3, at: 3 * second + second / 2, 3), at: 2)
        },
        Breach(name: "a command that was taken and has no end", promise: .ends) {
            ($0.asked[0].endedAt, $0.asked[0].verdict) = (nil, nil)
            $0.ended += 9 * second
        },
        Breach(name: "an end that is told too late", promise: .ends) {
            $0.asked[0].endedAt = $0.asked[0].deadline + CaseJudge.questionNanoseconds + CaseJudge.slackNanoseconds + 1
        },
        Breach(name: "a damaged journal", promise: .integrity) { $0.damage = ["line 3"] },
        Breach(name: "a case that got stuck", promise: .thorough) { $0.obstacle = "no answer" },
    ]

    @Test("Each breach is found, and blamed on its promise", arguments: breaches)
    func found(breach: Breach) {
        var history = SampleCase.good(breach.victim)
        breach.make(&history)
        let violations = CaseJudge.violations(of: history)
        #expect(violations.contains { $0.promise == breach.promise }, "\(violations)")
    }

    @Test("Every promise has a breach that shows it can be broken")
    func complete() {
        #expect(Set(Self.breaches.map(\.promise)) == Set(CasePromise.allCases))
    }

    @Test("What is true when it is told is no breach")
    func truths() {
        var history = SampleCase.good(.lock)
        history.facts.append(SampleCase.value(Self.unlocked, at: history.ended))
        history.facts.append(SampleCase.value(Self.keyStatus(2), at: history.ended))
        history.earlierMovements = [SampleCase.movement(1, at: 1, 9)]
        history.facts.insert(SampleCase.value(Self.keyStatus(9), at: SampleCase.second + 1), at: 0)
        #expect(CaseJudge.violations(of: history) == [])
    }

    @Test("A second receipt says also that a command was given up, and then nothing has to have moved")
    func givenUp() {
        #expect(CaseJudge.violations(of: SampleCase.unmoved(.lock, verdict: "refused: aborted")) == [])
        let done = CaseJudge.violations(of: SampleCase.unmoved(.lock, verdict: "done"))
        #expect(done.contains { $0.text.contains("second receipt") }, "\(done)")
        // A key that died before it could say has left nobody who knows.
        let untold = CaseJudge.violations(of: SampleCase.unmoved(.key, verdict: nil))
        #expect(untold.map(\.promise) == [.told] && untold.map(\.isOfTime) == [true])
    }

    @Test("A machine that stands still excuses what has a time, and nothing else")
    func times() {
        func excused(_ change: (inout CaseHistory) -> Void) -> Bool {
            var history = SampleCase.good(.lock)
            change(&history)
            let violations = CaseJudge.violations(of: history)
            return !violations.isEmpty && violations.allSatisfy(\.isOfTime)
        }
        #expect(excused { $0.movements[1].at += 10 * SampleCase.second })
        #expect(excused { $0.restart?.restoredAt = nil })
        #expect(!excused { $0.movements.append($0.movements[0]) })
        // Both at once: the one that has no time counts.
        #expect(
            !excused {
                $0.restart?.restoredAt = nil
                $0.movements.append($0.movements[0])
            })
    }

    @Test("A lock that is gone for longer than an opening lives may give up what it had accepted")
    func excused() {
        var history = SampleCase.good(.lock)
        history.asked[0].verdict = "accepted"
        history.movements.removeFirst(2)
        history.boltTold.removeFirst()
        history.killedAt = history.asked[0].endedAt
        history.restart = CaseHistory.Restart(
            at: 3 * SampleCase.second + SampleCase.second / 2, restoredAt: 3 * SampleCase.second + SampleCase.second / 2
        )
        history.facts.append(
            AirFact(at: 4 * SampleCase.second, role: .lock, life: 3, what: .advertising))
        #expect(CaseJudge.violations(of: history) == [])
    }
}
