import BluetoothCore
import LockCentral
import LockPeripheral
import LockProtocol

/// Who was let do what at one lock, held against what operators were told of it. What may be so is allowed.
struct AccessJudge {
    let register: Register
    let ledger: Ledger
    /// The lock whose metal this is.
    let door: Int
    let metal: [MetalJournal.Movement]
    let absences: [Stretch]
    let end: Instant
    /// Whether there may be a fire, as far as the lock knows: everybody may open then, and nobody lock.
    private var mayBeInFire: (Instant) -> Bool = { _ in false }
    /// When the door is open for another reason than what the lock decides.
    private var excuses: [Stretch] = []

    init(
        register: Register, ledger: Ledger, door: Int, metal: [MetalJournal.Movement], absences: [Stretch], end: Instant
    ) {
        (self.register, self.ledger, self.door) = (register, ledger, door)
        (self.metal, self.absences, self.end) = (metal, absences, end)
    }

    /// What befell the door.
    mutating func hear(_ record: DoorRecord) {
        mayBeInFire = { [absences, end] in record.mayBeInFire(at: $0, absences, end: end) }
        excuses = record.reasonsToWait
    }

    private var tenants: [Tenant] { register.tenants }

    /// What a lock may say to a command. Of what the bolt and the challenge have to do with it nothing is said here.
    enum Outcome: Hashable, CustomStringConvertible {
        case granted
        case refused(LockResult)

        var description: String {
            switch self {
            case .granted: "granted"
            case .refused(let result): "refused with \(result.rawValue)"
            }
        }
    }

    var broken: [String] {
        metal.compactMap { brokenBy($0.line) } + ledger.requests.compactMap(brokenByRefusal)
            + ledger.answers.compactMap(brokenByAnswer)
            + ModeWatch(register: register, metal: metal, absences: absences + excuses, end: end).broken
    }

    // MARK: Commands

    private func brokenBy(_ line: BoltJournal.Line) -> String? {
        guard let challenge = line.command, let command = ledger.commands[challenge] else { return nil }
        let arrivals = command.arrivals.filter { $0.door == door && $0.at <= line.at }.map(\.at)
        if let heard = ledger.challengesHeard[challenge], let first = arrivals.first,
            first > heard.advanced(byMilliseconds: longestLife(at: heard))
        {
            return "\(command) moved the bolt, and its challenge was dead"
        }
        guard !arrivals.isEmpty, !arrivals.contains(where: { outcomes(command, at: $0).contains(.granted) }) else {
            return nil
        }
        let reasons = Set(arrivals.flatMap { outcomes(command, at: $0) }).map { "\($0)" }.sorted().joined(
            separator: ", ")
        return "\(command) moved the bolt, which had to be \(reasons)"
    }

    /// Of a challenge that was issued about then.
    private func longestLife(at instant: Instant) -> UInt64 {
        let before = Instant(nanoseconds: instant.nanoseconds - min(instant.nanoseconds, 30_000_000_000))
        return register.settings.during(before, instant).map(\.challengeLifeMilliseconds).max() ?? .max
    }

    /// A key was told why: then that may have been so.
    private func brokenByRefusal(_ request: Ledger.Request) -> String? {
        guard request.door == door, case .refused(let result)? = request.ends.first, Self.isOfAccess(result) else {
            return nil
        }
        let commands = request.sent.keys.compactMap { ledger.commands[$0] }
        let arrivals = commands.flatMap { command in
            command.arrivals.filter { $0.door == door }.map { (command, $0.at) }
        }
        guard !arrivals.isEmpty else { return nil }
        let isExplained = arrivals.contains { outcomes($0.0, at: $0.1).contains(.refused(result)) }
        return isExplained
            ? nil
            : "\(request.operation.name) of key \(request.key) was refused with \(result.rawValue), to which it has the right"
    }

    private static func isOfAccess(_ result: LockResult) -> Bool {
        [.notPermitted, .outsideSchedule, .credentialExpired, .clockUntrusted, .modeForbids, .lockedOut].contains(
            result)
    }

    func outcomes(_ command: Ledger.Command, at instant: Instant) -> Set<Outcome> {
        guard tenants.indices.contains(command.key) else { return [] }
        var outcomes: Set<Outcome> = []
        let times = times(at: instant)
        let modes = register.mode.during(instant, instant).union(mayBeInFire(instant) ? [.passage] : [])
        for standing in register.standings[command.key].during(instant, instant) {
            for settings in register.settings.during(instant, instant) {
                for mode in modes {
                    for time in times { outcomes.insert(outcome(command, standing, settings, mode, time)) }
                }
            }
        }
        if register.mayBeLockedOut(command.key, at: instant) { outcomes.insert(.refused(.lockedOut)) }
        return outcomes
    }

    private func times(at instant: Instant) -> [Int64?] {
        let times = register.clock.times(at: instant)
        return times.seconds.map { $0 } + (times.mayBeNone ? [nil] : [])
    }

    private func outcome(
        _ command: Ledger.Command, _ standing: Register.Standing, _ settings: Ask.Settings, _ mode: LockMode,
        _ time: Int64?
    ) -> Outcome {
        // The key was told otherwise by somebody on the way: it may ask anew.
        if command.isSigned, !settings.acceptsSigned { return .refused(.challengeDead) }
        let tenant = tenants[command.key]
        guard standing.isThere, standing.isEnabled else { return .refused(.notPermitted) }
        switch verdict(tenant, standing, settings, time) {
        case .within: break
        case .outside: return .refused(.outsideSchedule)
        case .expired: return .refused(.credentialExpired)
        case .noClock: return .refused(.clockUntrusted)
        }
        guard let required = RightsTable.abilities(for: command),
            RightsTable.abilities(of: tenant.role).isSuperset(of: required)
        else { return .refused(.notPermitted) }
        guard RightsTable.admits(mode, command, tenant.role) else { return .refused(.modeForbids) }
        return .granted
    }

    private func verdict(
        _ tenant: Tenant, _ standing: Register.Standing, _ settings: Ask.Settings, _ time: Int64?
    ) -> HouseCalendar.Verdict {
        // Whose minutes are counted from the first opening needs a clock for that one.
        if time == nil, case .expiring = tenant.kind { return .noClock }
        return settings.calendar.verdict(standing.rules, at: time)
    }

    // MARK: What was asked beside commands

    private func brokenByAnswer(_ answer: Ledger.Answer) -> String? {
        guard answer.door == door, tenants.indices.contains(answer.key), let result = answer.result else { return nil }
        let name = "\(answer.ask) of key \(answer.key), \(tenants[answer.key].role)"
        switch result {
        case .granted:
            if let reason = impossible(answer) { return "\(name), was done: \(reason)" }
        case .notPermitted:
            if !mayBeRefused(answer) { return "\(name), was refused, to which it has the right" }
        case .further:
            let abilities = RightsTable.abilities(of: tenants[answer.key].role)
            if let ability = RightsTable.ability(for: answer.ask), !abilities.contains(ability) {
                return "\(name), was looked into, to which its role has no right"
            }
        case .other: break
        }
        return nil
    }

    /// Why it cannot have been right to grant it; nil where it may.
    private func impossible(_ answer: Ledger.Answer) -> String? {
        let senders = senders(of: answer)
        guard !senders.isEmpty else { return "nobody of that name may do anything" }
        let role = tenants[answer.key].role
        if let ability = RightsTable.ability(for: answer.ask), !RightsTable.abilities(of: role).contains(ability) {
            return "its role has no right to it"
        }
        guard senders.contains(where: { ranks($0, above: answer, whereGone: false) }) else {
            return "it may not change that one"
        }
        if case .setTime(let origin) = answer.ask {
            if register.clock.isMachineTrusted(from: answer.asked, to: answer.told) { return "the machine has a clock" }
            let seconds = origin + Int64(answer.told.nanoseconds / 1_000_000_000)
            // A second for the way.
            if let earliest = register.clock.earliestToTell(at: answer.asked), seconds + 1 < earliest {
                return "the lock has known a later time"
            }
        }
        return nil
    }

    private func mayBeRefused(_ answer: Ledger.Answer) -> Bool {
        let role = tenants[answer.key].role
        if let ability = RightsTable.ability(for: answer.ask), !RightsTable.abilities(of: role).contains(ability) {
            return true
        }
        // Whose window is open nobody keeps here, nor for whom one offers something else than he has.
        if answer.ask == .close || answer.ask.target.map(mayBeOffered) ?? false { return true }
        let all = register.standings[answer.key].during(answer.asked, answer.told)
        return all.contains { !isAdmitted($0, answer) || !ranks($0, above: answer, whereGone: true) }
            || senders(of: answer, mayBeAll: false).isEmpty
    }

    /// Whether something else than he has may be offered to one of this user.
    private func mayBeOffered(_ target: Int) -> Bool {
        let opened = ledger.answers.compactMap { answer -> Int? in
            if case .open(let other, _) = answer.ask { other } else { nil }
        }
        return register.offered.union(opened).contains { tenants[$0].user == tenants[target].user }
    }

    /// What the sender may have been when that was granted.
    private func senders(of answer: Ledger.Answer, mayBeAll: Bool = true) -> [Register.Standing] {
        register.standings[answer.key].during(answer.asked, answer.told).filter {
            isAdmitted($0, answer, mayBeAll: mayBeAll)
        }
    }

    /// Whether it may have been within its rules, at any time between the question and the answer; else: at all times.
    private func isAdmitted(_ standing: Register.Standing, _ answer: Ledger.Answer, mayBeAll: Bool = false) -> Bool {
        guard standing.isThere, standing.isEnabled else { return false }
        // Alarms and the lock's state are told to whoever is enabled.
        if answer.ask == .alarm || answer.ask == .state { return true }
        let tenant = tenants[answer.key]
        var verdicts: Set<HouseCalendar.Verdict> = []
        for settings in register.settings.during(answer.asked, answer.told) {
            for time in times(between: answer.asked, answer.told) {
                verdicts.insert(verdict(tenant, standing, settings, time))
            }
        }
        return mayBeAll ? verdicts.contains(.within) : verdicts == [.within]
    }

    private func times(between from: Instant, _ to: Instant) -> Set<Int64?> {
        var times = Set(times(at: from)).union(self.times(at: to))
        // Second by second, as far as that goes.
        let seconds = min(to.milliseconds(since: from) / 1_000, 60)
        for second in 0..<seconds { times.formUnion(self.times(at: from.advanced(byMilliseconds: second * 1_000))) }
        return times
    }

    private func mayBeGone(_ tenant: Int, for answer: Ledger.Answer) -> Bool {
        register.standings[tenant].during(answer.asked, answer.told).contains { !$0.isThere }
    }

    /// Whether the sender may change whom it is about. What is done to a name concerns everybody of that name. `whereGone`: also those who
    /// may be gone by then; a name that nobody has is anybody's.
    private func ranks(_ sender: Register.Standing, above answer: Ledger.Answer, whereGone: Bool) -> Bool {
        let own = tenants[answer.key]
        let isPassing = own.isPassing || !sender.rules.isEmpty
        func ranks(_ other: Role) -> Bool { RightsTable.ranks(own.role, isPassing: isPassing, above: other) }
        switch answer.ask {
        case .disable(let target), .enable(let target), .remove(let target), .rules(let target, _):
            return target != answer.key && ranks(tenants[target].role)
        case .open(let target, let role):
            guard target != answer.key, ranks(role) else { return false }
            let user = tenants[target].user
            return tenants.indices.allSatisfy { other in
                guard other == target || tenants[other].user == user && user != own.user else { return true }
                return ranks(tenants[other].role) || !whereGone && mayBeGone(other, for: answer)
            }
        case .setSettings(let wanted):
            guard isPassing else { return true }
            // Its own wish counts from the moment on in which it asks.
            let before = Instant(nanoseconds: answer.asked.nanoseconds - min(answer.asked.nanoseconds, 1))
            let calendars = register.settings.during(before, whereGone ? answer.told : before).map(\.calendar)
            return whereGone ? calendars.allSatisfy { $0 == wanted.calendar } : calendars.contains(wanted.calendar)
        default: return true
        }
    }
}
