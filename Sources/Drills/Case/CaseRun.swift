import DaemonControl

/// One life of a household: both come up, an unlock is asked for out of range and carried out within it, the relock falls due, and
/// all ends. The victim is killed at its call, or lives to the end; a killed one is started again and has to obey.
final class CaseRun {
    private let victim: Role
    private let executioner: any Executioner
    /// How long the victim stays dead, given whether an opening waits for it.
    private let down: (Bool) -> UInt64
    private let household: Household
    private let waiter: Waiter
    private(set) var history: CaseHistory
    private var launched: [Role: Int] = [:]
    private var lockEvents: DaemonExchange?

    private var observer: AirObserver { household.observer }
    private var other: Role { victim == .lock ? .key : .lock }

    /// How long a victim stays dead that comes back too late for an opening: longer than one lives, and than the judge's slack.
    static let pastDeadlineMilliseconds: UInt64 = 3_500
    /// What the operator waits for: longer than the case's first life takes, and than a lock stays down in the worst.
    private static let waitSeconds: Int64 = 5
    private static let relockPatienceMilliseconds: UInt64 = 2_500
    private static let obedienceMilliseconds: UInt64 = 15_000

    init(
        _ victim: Role, _ executioner: any Executioner, down: @escaping (Bool) -> UInt64, _ household: Household,
        _ template: HouseTemplate, waiter: Waiter
    ) {
        self.victim = victim
        self.executioner = executioner
        self.down = down
        self.household = household
        self.waiter = waiter
        history = CaseHistory(victim: victim, settings: CaseHousehold.settings)
        history.earlierCounters = template.counters
        history.earlierMovements = template.movements
    }

    /// Runs the case to its end. A process that got stuck is a line of the history, for the judge.
    ///
    /// - Throws: Why the case could not be played.
    func run() throws {
        history.began = Clock.now
        defer { household.endAll() }
        do {
            if try live() { try comeBack() }
        } catch let error as DrillError where error.kind == .stuck {
            history.obstacle = error.description
        }
        try collect()
    }

    // MARK: The first life

    /// Whether the victim was killed.
    private func live() throws -> Bool {
        try household.setKeyNear(false)
        // One behind the other: two that begin at once wait for each other's turns at the database, as often as it takes.
        for role in Role.allCases {
            try launch(role, isFirst: true)
            guard try awaitLife(role) else { return try die() }
        }
        watchLock()
        guard let index = try askAndHear() else { return try die() }
        guard !history.asked[index].isBereft else { return try die() }
        guard history.asked[index].isAccepted else {
            throw DrillError(.stuck, "the unlock was not accepted: \(history.asked[index].verdict ?? "no answer")")
        }
        guard try awaitRelock(), try awaitQuiet() else { return try die() }
        try household.stop(victim)
        if executioner.hasKilled { return try die() }
        try household.stop(other)
        return false
    }

    private func launch(_ role: Role, isFirst: Bool = false) throws {
        observer.poll()
        launched[role] = observer.lastOrdinal
        let isToDie = isFirst && role == victim
        let process = try household.start(role, under: isToDie ? executioner.tracer : nil)
        if isToDie { try executioner.began(process) }
    }

    /// False when the victim has died and the case does not know yet.
    private var isVictimAlive: Bool {
        launched[victim] == nil || history.killedAt != nil || household.isAlive(victim)
    }

    /// Waits until something is so; false when the victim has died of its call meanwhile.
    private func wait(for what: String, milliseconds: UInt64, _ condition: () throws -> Bool) throws -> Bool {
        let deadline = Clock.now + Clock.milliseconds(milliseconds)
        while true {
            observer.poll()
            hearLock()
            if try condition() { return true }
            if !isVictimAlive { return false }
            guard Clock.now < deadline else { throw DrillError(.stuck, "\(what): not within \(milliseconds) ms") }
            try waiter.sleep(milliseconds: 2)
        }
    }

    private func awaitLife(_ role: Role) throws -> Bool {
        try wait(for: "the \(role.rawValue) comes up", milliseconds: Household.patienceSeconds * 1000) {
            guard let station = observer.latest(role), station.ordinal > launched[role] ?? 0 else { return false }
            guard role == .lock ? station.advertisedAt != nil : station.broughtUpAt != nil else { return false }
            return try household.status(of: role) != nil
        }
    }

    private func awaitQuiet() throws -> Bool {
        try wait(for: "links end", milliseconds: Household.patienceSeconds * 1000) {
            !observer.hasLink(.lock) && !observer.hasLink(.key)
        }
    }

    /// Waits until an open bolt is locked again. One that stays open is no error here: the judge speaks of it.
    private func awaitRelock() throws -> Bool {
        guard let opening = try movements().last, opening.opens else { return true }
        let due = max(opening.at, history.restart?.restoredAt ?? 0) + history.settings.relockNanoseconds
        let deadline = due + Clock.milliseconds(Self.relockPatienceMilliseconds)
        let isLocked = try wait(for: "the relock", milliseconds: 2 * Household.patienceSeconds * 1000) {
            try movements().last?.opens == false || Clock.now > deadline
        }
        guard isLocked else { return false }
        let travelled = Clock.now + 2 * history.settings.travelNanoseconds
        return try wait(for: "the bolt's travel", milliseconds: Household.patienceSeconds * 1000) {
            Clock.now > travelled
        }
    }

    private func movements() throws -> [Movement] {
        Array(try household.movements().dropFirst(history.earlierMovements.count))
    }

    // MARK: Commands

    /// Asks out of range for an unlock, comes near, and hears what becomes of it; nil when the victim died meanwhile.
    private func askAndHear() throws -> Int? {
        let index = try ask()
        let isTaken = try wait(for: "the key takes a command", milliseconds: Household.patienceSeconds * 1000) {
            try hear()
            return history.asked[index].takenAt != nil || history.asked[index].endedAt != nil
        }
        guard isTaken else { return nil }
        try household.setKeyNear(true)
        return try awaitAnswer() ? index : nil
    }

    private var pending: (exchange: DaemonExchange, index: Int)?

    private func ask() throws -> Int {
        let request = CentralRequest.Command(operation: .unlock, lock: nil, waitSeconds: Self.waitSeconds)
        history.asked.append(
            CaseHistory.Asked(
                opens: true, at: Clock.now, waitNanoseconds: UInt64(Self.waitSeconds) * 1_000_000_000))
        let index = history.asked.count - 1
        pending = household.ask(.key, CentralRequest.command(request)).map { ($0, index) }
        return index
    }

    /// Reads what the key says of the command that is out, as far as it has. A key that dies with the answer says nothing.
    private func hear() throws {
        guard let (exchange, index) = pending else { return }
        do {
            while let reply = try exchange.next(until: Clock.now) {
                switch reply {
                case .event("asked", _): history.asked[index].takenAt = Clock.now
                case .event: break
                case .result(let result): return end(index, result["outcome"]?.string ?? "done")
                case .error(let failure): return end(index, "\(failure.code.rawValue): \(failure.message)")
                }
            }
        } catch is ControlClientError {
            guard history.killedAt == nil, victim == .key else {
                throw DrillError(.stuck, "the key left its operator without an answer")
            }
            history.asked[index].isBereft = true
            pending = nil
        }
    }

    private func end(_ index: Int, _ verdict: String) {
        history.asked[index].endedAt = Clock.now
        history.asked[index].verdict = verdict
        pending = nil
    }

    /// Waits for the end of the command that is out; false when the victim died meanwhile.
    private func awaitAnswer() throws -> Bool {
        guard let index = pending?.index else { return true }
        let patience = UInt64(Self.waitSeconds) * 1000 + Household.patienceSeconds * 1000
        return try wait(for: "the end of a command", milliseconds: patience) {
            try hear()
            return history.asked[index].endedAt != nil
        }
    }

    /// What the lock tells whoever watches it.
    private func watchLock() { lockEvents = household.ask(.lock, PeripheralRequest.events) }

    private func hearLock() {
        guard let events = lockEvents else { return }
        do {
            while let reply = try events.next(until: Clock.now) {
                guard case .event("bolt", let fields) = reply, let bolt = fields["bolt"]?.string else { continue }
                history.boltTold.append(CaseHistory.BoltTold(at: Clock.now, isOpen: bolt == "unlocked"))
            }
        } catch {
            lockEvents = nil
        }
    }

    // MARK: The kill, and what follows

    /// True when the victim died of its call, whose end is now waited for.
    private func die() throws -> Bool {
        guard
            try household.awaitEnd(victim, until: Clock.now + Clock.milliseconds(Household.patienceSeconds * 1000)),
            executioner.hasKilled
        else { throw DrillError(.stuck, "the \(victim.rawValue) ended by itself") }
        if victim == .key { leaveBereft() }
        hearLock()
        history.killedAt = Clock.now
        if victim == .lock { lockEvents = nil }
        observer.ended(victim, at: Clock.now)
        return true
    }

    /// What the dead key had still written is heard; then whoever waits for it waits for nothing.
    private func leaveBereft() {
        guard let index = pending?.index else { return }
        do { try hear() } catch {}
        if history.asked[index].endedAt == nil { history.asked[index].isBereft = true }
        pending = nil
    }

    private func comeBack() throws {
        try gather()
        try executioner.raise()
        let down = down(history.hasOpeningBetweenCommitAndAct)
        if down > 0 { try waiter.sleep(milliseconds: down) }
        try household.setKeyNear(true)
        let at = Clock.now
        history.restart = CaseHistory.Restart(at: at)
        try launch(victim)
        do {
            _ = try awaitLife(victim)
        } catch let error as DrillError where error.kind == .stuck {
            return
        }
        history.restart?.restoredAt = Clock.now
        if !household.isAlive(other) { try launch(other) }
        _ = try awaitLife(other)
        watchLock()
        _ = try awaitAnswer()
        try obey()
    }

    /// A command is given until one is accepted, behind the relock of what was opened.
    private func obey() throws {
        let deadline = Clock.now + Clock.milliseconds(Self.obedienceMilliseconds)
        while Clock.now < deadline {
            _ = try awaitRelock()
            let index = try ask()
            _ = try awaitAnswer()
            if history.asked[index].isAccepted { return hearLock() }
            try waiter.sleep(milliseconds: 20)
        }
    }

    private func gather() throws {
        observer.poll()
        history.facts = AirStory.facts(observer.packets)
        history.movements = try movements()
    }

    private func collect() throws {
        history.ended = Clock.now
        do {
            try gather()
        } catch let error as DrillError where error.kind == .stuck {
            history.damage.append(error.description)
        }
        history.damage += observer.damage
    }
}
