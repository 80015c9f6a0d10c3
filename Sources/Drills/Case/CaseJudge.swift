/// Holds one case against every promise. Pure: the same history has the same violations. It believes the operators, the air and the
/// bolt's journal, and never a database of the products.
struct CaseJudge {
    let history: CaseHistory

    /// A restart that takes longer has not come back.
    static let patienceNanoseconds: UInt64 = 5_000_000_000
    /// How much later than it should a process may act on a machine that is busy with other cases.
    static let slackNanoseconds: UInt64 = 1_000_000_000
    /// A command's packet leaves behind the last look at the clock by this at most, and a bolt begins to move so.
    static let leavingNanoseconds: UInt64 = 250_000_000
    /// Behind its time a key asks the lock for as long what became of a command.
    static let questionNanoseconds: UInt64 = 3_000_000_000
    /// The captures' clock is the wall's, in microseconds.
    static let clockNanoseconds: UInt64 = 2_000_000

    static func violations(of history: CaseHistory) -> [CaseViolation] {
        let judge = Self(history: history)
        return judge.restart + judge.kept + judge.movements + judge.late + judge.relocks + judge.obedience
            + judge.counters
            + judge.told + judge.ends + judge.whole
    }

    private func broken(_ promise: CasePromise, _ text: String) -> CaseViolation {
        CaseViolation(promise: promise, text: text)
    }

    /// Milliseconds since the case began.
    private func time(_ at: UInt64) -> String {
        "\((at > history.began ? at - history.began : 0) / 1_000_000) ms"
    }

    // MARK: What outlives the kill

    private var restart: [CaseViolation] {
        guard let restart = history.restart else {
            return history.killedAt == nil
                ? [] : [broken(.restored, "the \(history.victim.rawValue) was not started again")]
        }
        guard let restored = restart.restoredAt else {
            return [broken(.restored, "the \(history.victim.rawValue) did not come back")]
        }
        guard restored > restart.at + Self.patienceNanoseconds else { return [] }
        return [
            broken(
                .restored, "the \(history.victim.rawValue) came back after \((restored - restart.at) / 1_000_000) ms")
        ]
    }

    private var kept: [CaseViolation] {
        var found: [CaseViolation] = []
        if history.facts.contains(where: { $0.what == .pairing }) {
            found.append(broken(.bonds, "somebody paired anew"))
        }
        for fact in history.facts {
            guard case .configuration(let handle, _) = fact.what, fact.role == .key else { continue }
            found.append(broken(.subscriptions, "the key subscribed again, to \(handle), at \(time(fact.at))"))
        }
        guard let restart = history.restart, restart.restoredAt != nil else { return found }
        let next = history.factsOfNextLife
        if history.victim == .lock, !next.contains(where: { $0.what == .advertising }) {
            found.append(broken(.advertisements, "the lock does not advertise again"))
        }
        if isConnectionOwed(restart), !next.contains(where: { $0.what == .createConnection }) {
            found.append(broken(.pendingConnections, "the key does not connect again for what it had taken"))
        }
        // Only where the two have met again is anything to be notified.
        let met = history.facts.contains { $0.role == .key && $0.at >= restart.at && $0.what == .linkUp }
        let notified = history.facts.contains { fact in
            guard fact.role == .key, fact.at >= restart.at, case .value(_, false) = fact.what else { return false }
            return true
        }
        if met, !notified {
            found.append(broken(.subscriptions, "the key is notified of nothing on the links behind the restart"))
        }
        return found
    }

    /// The key had taken a command that had not left it when it was killed, and there was time left.
    private func isConnectionOwed(_ restart: CaseHistory.Restart) -> Bool {
        guard history.victim == .key, let killedAt = history.killedAt else { return false }
        return history.asked.contains { asked in
            guard let taken = asked.takenAt, taken < killedAt, asked.isBereft,
                restart.at + Self.slackNanoseconds < asked.deadline
            else { return false }
            return !history.commandsOnAir.contains { asked.at <= $0.at && $0.at <= killedAt }
        }
    }

    // MARK: The bolt

    private var movements: [CaseViolation] {
        var found: [CaseViolation] = []
        let byCommand = Dictionary(grouping: history.movements.filter { $0.command != nil }, by: \.command)
        for (command, movements) in byCommand where movements.count > 1 {
            found.append(broken(.oneMovement, "command \(command ?? "") moved the bolt \(movements.count) times"))
        }
        let sent = history.commandsOnAir
        for movement in history.movements {
            if let command = movement.command {
                let isSent = sent.contains {
                    $0.command.challenge == command && $0.at <= movement.at + Self.clockNanoseconds
                }
                guard !isSent else { continue }
                found.append(
                    broken(
                        .commandedMovement,
                        "movement \(movement.sequence) is for command \(command), which had not left the key"))
            } else if movement.opens {
                found.append(broken(.commandedMovement, "movement \(movement.sequence) opened for nobody"))
            }
        }
        return found
    }

    private var late: [CaseViolation] {
        let sent = history.commandsOnAir
        var found: [CaseViolation] = []
        for movement in history.movements where movement.opens {
            guard let left = sent.first(where: { $0.command.challenge == movement.command }) else { continue }
            let limit = left.at + Invariants.openingLifeNanoseconds + Self.slackNanoseconds
            if movement.at > limit {
                let by = (movement.at - left.at) / 1_000_000
                found.append(broken(.neverLate, "movement \(movement.sequence) opened \(by) ms behind its command"))
            }
            let asked = history.asked.last { $0.opens && $0.at <= left.at }
            if let asked, left.at > asked.deadline + Self.leavingNanoseconds {
                let by = (left.at - asked.deadline) / 1_000_000
                found.append(broken(.neverLate, "an unlock left the key \(by) ms behind its user's time"))
            }
            // The user's time begins when the key hears of it.
            guard let asked else { continue }
            let meant = (asked.takenAt ?? asked.at) + asked.waitNanoseconds
            if movement.at > meant + Self.leavingNanoseconds {
                let by = (movement.at - meant) / 1_000_000
                found.append(
                    broken(.neverLate, "movement \(movement.sequence) opened \(by) ms behind its user's time"))
            }
        }
        return found
    }

    /// Until when an opening has to be followed by a lock: its time, or, if the lock was not there then, its next life.
    private func relockLimit(_ opening: Movement) -> UInt64 {
        let due = opening.at + history.settings.relockNanoseconds
        guard history.victim == .lock, let killedAt = history.killedAt, killedAt <= due + Self.slackNanoseconds else {
            return due + Self.slackNanoseconds
        }
        return max(due, history.restart?.restoredAt ?? due) + Self.slackNanoseconds
    }

    private var relocks: [CaseViolation] {
        history.movements.enumerated().compactMap { index, opening in
            guard opening.opens else { return nil }
            let limit = relockLimit(opening)
            let next = history.movements.dropFirst(index + 1).first
            if let next, next.at <= limit { return nil }
            guard next != nil || history.ended > limit else { return nil }
            let made = next.map { "made at \(time($0.at))" } ?? "not made"
            return broken(.relocks, "the relock of movement \(opening.sequence), due by \(time(limit)), was \(made)")
        }
    }

    // MARK: Operators

    private var obedience: [CaseViolation] {
        guard let restored = history.restart?.restoredAt else { return [] }
        let obeyed = history.asked.contains { asked in
            guard asked.at >= restored, asked.isAccepted, let ended = asked.endedAt else { return false }
            return movement(for: asked, by: ended + Invariants.openingLifeNanoseconds) != nil
        }
        guard !obeyed else { return [] }
        let last = history.asked.last { $0.at >= restored }
        return [broken(.obeys, "none was; the last answer: \(last?.verdict ?? "none")")]
    }

    /// The movement that a command made, as the commands on the air since tell.
    private func movement(for asked: CaseHistory.Asked, by end: UInt64) -> Movement? {
        let challenges = Set(
            history.commandsOnAir.filter { $0.at >= asked.at && $0.at <= end }.map(\.command.challenge))
        return history.movements.first { movement in
            guard let command = movement.command, movement.opens == asked.opens else { return false }
            return challenges.contains(command) && movement.at <= end
        }
    }

    private var counters: [CaseViolation] {
        var seen = history.earlierCounters
        return history.commandsOnAir.compactMap { sent in
            guard let counter = sent.command.counter, !seen.insert(counter).inserted else { return nil }
            return broken(.counters, "the key signed twice with counter \(counter)")
        }
    }

    private var ends: [CaseViolation] {
        history.asked.compactMap { asked in
            guard asked.takenAt != nil, !asked.isBereft else { return nil }
            let limit = asked.deadline + Self.questionNanoseconds + Self.slackNanoseconds
            if let ended = asked.endedAt {
                return ended > limit ? broken(.ends, "an end was told \((ended - limit) / 1_000_000) ms late") : nil
            }
            return history.ended > limit ? broken(.ends, "no end was told of the command at \(time(asked.at))") : nil
        }
    }

    private var whole: [CaseViolation] {
        history.damage.map { broken(.integrity, $0) } + (history.obstacle.map { [broken(.thorough, $0)] } ?? [])
    }
}

// MARK: What was told

extension CaseJudge {
    fileprivate var told: [CaseViolation] { toldByKey + toldByLock + toldOnAir }

    private var toldByKey: [CaseViolation] {
        history.asked.compactMap { asked in
            guard asked.isAccepted, let ended = asked.endedAt else { return nil }
            // Accepted is a promise: the lock has committed to the movement, and makes it while the opening lives.
            let by = asked.isDone ? ended : ended + Invariants.openingLifeNanoseconds
            if movement(for: asked, by: by) != nil || (!asked.isDone && isExcused(by)) { return nil }
            return CaseViolation(
                promise: .told,
                text: "the key told \(asked.verdict ?? "") at \(time(ended)), and the journal has no such movement",
                isOfTime: !asked.isDone)
        }
    }

    /// A lock that is gone for longer than an opening lives gives the opening up.
    private func isExcused(_ by: UInt64) -> Bool {
        guard history.victim == .lock, let restart = history.restart, let killedAt = history.killedAt else {
            return false
        }
        return killedAt < by
            && (restart.restoredAt ?? history.ended) - killedAt + Self.slackNanoseconds
                > Invariants.openingLifeNanoseconds
    }

    private var toldByLock: [CaseViolation] {
        history.boltTold.compactMap { told in
            guard told.isOpen, !history.movements.contains(where: { $0.opens && $0.at <= told.at }) else { return nil }
            return broken(.told, "the lock told at \(time(told.at)) that it is open, and the journal has no opening")
        }
    }

    private static let lockStateOctets = 7
    private static let receiptOctets = 19
    private static let keyStatusOctets = 19

    /// What the lock's host said of a movement's end: in Lock State, in an answer to Key Status, by a second receipt.
    private var toldOnAir: [CaseViolation] {
        var found: [CaseViolation] = []
        var receipts = 0
        for fact in history.facts {
            switch fact.what {
            case .linkUp, .command: receipts = 0
            case .value(let octets, true) where fact.role == .lock:
                if let prefix = Self.doneInLockState(octets), !hasMoved(prefix, by: fact.at) {
                    found.append(
                        broken(.told, "Lock State told the end of command \(prefix)… before the journal had it"))
                } else if let challenge = Self.doneInKeyStatus(octets) {
                    if !hasMoved(challenge, by: fact.at) {
                        found.append(
                            broken(.told, "Key Status told the end of command \(challenge) before the journal had it"))
                    }
                } else if octets.count == Self.receiptOctets {
                    receipts += 1
                    if receipts == 2, let early = earlyEnd(at: fact.at) { found.append(early) }
                }
            default: break
            }
        }
        return found
    }

    private func hasMoved(_ prefix: String, by at: UInt64) -> Bool {
        (history.earlierMovements + history.movements).contains {
            $0.command?.hasPrefix(prefix) == true && $0.at <= at + Self.clockNanoseconds
        }
    }

    /// The breach in a second receipt that left at this time; nil where it told the truth. A receipt is sealed, and may also say that
    /// the lock has given the command up. It did so if the operator was told of a failure, and the command never moved the bolt.
    private func earlyEnd(at: UInt64) -> CaseViolation? {
        let sent = history.commandsOnAir.last { $0.at <= at }
        if let sent, hasMoved(sent.command.challenge, by: at) { return nil }
        let text = "a second receipt left at \(time(at)) before the journal had its movement"
        guard let sent, !hasMoved(sent.command.challenge, by: history.ended),
            let asked = history.asked.last(where: { $0.at <= sent.at })
        else { return broken(.told, text) }
        if asked.isFailed { return nil }
        // Nobody can say what it told, if the key died before its operator heard of it.
        return CaseViolation(promise: .told, text: text, isOfTime: asked.isBereft)
    }

    /// The first octets of the challenge whose command is told as done.
    private static func doneInLockState(_ octets: [UInt8]) -> String? {
        guard octets.count == lockStateOctets, octets[2] == 0, octets[3...].contains(where: { $0 != 0 }) else {
            return nil
        }
        return hex(octets[3...])
    }

    private static func doneInKeyStatus(_ octets: [UInt8]) -> String? {
        guard octets.count == keyStatusOctets, octets.starts(with: [0x20, 0x01, 0x01]), octets[18] == 3 else {
            return nil
        }
        return hex(octets[7..<13])
    }
}
