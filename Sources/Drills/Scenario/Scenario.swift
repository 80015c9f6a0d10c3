import DaemonControl

/// One drill from its first launch to its last look: enrols, walks, unlocks, locks, kills, restarts, attacks.
///
/// It decides nothing by a clock that the schedule did not decide: every step waits for what the captures, the control
/// sockets or the databases show, and times are only bounds after which it gives up.
final class Scenario {
    let household: Household
    let schedule: Schedule
    let progress: Progress
    var history: History
    var waiter: Waiter { household.waiter }
    var observer: AirObserver { household.observer }
    private var launchCalls: [Role: [String: Int]] = [:]
    private(set) var isEnrolled = false
    /// An enrolment window that is held open, and the key's side of it.
    var enrolment: (window: DaemonExchange, command: ProcessHandle)?
    var thief: Attacker?
    private var remaining: ArraySlice<KillPlan> = []
    /// Restarts that no accepted command, or no replays, have followed yet.
    private var unfollowed: [Int] = []
    /// Whether an enrolment was under way when somebody was killed: the key's side of it ends with either.
    private var isEnrolling = false
    /// The last controller before each role's present life.
    private var lastLife: [Role: Int] = [:]

    /// As long as each phase usually takes: what a moment is a share of.
    private static let enrolmentMilliseconds: UInt64 = 330
    private static let connectingMilliseconds: UInt64 = 150
    private static let connectedMilliseconds: UInt64 = 120
    private static let idleMilliseconds: UInt64 = 100
    /// How long a system call that was aimed at is waited for.
    private static let aimSeconds: UInt64 = 4
    private static let commandWaitSeconds: Int64 = 30
    private static let makeUpsMaximum = 6
    /// Every so many restarts something is delayed past its challenge.
    private static let delayedEvery = 6

    init(_ household: Household, _ schedule: Schedule, progress: Progress) {
        self.household = household
        self.schedule = schedule
        self.progress = progress
        history = History(seed: schedule.seed, began: Clock.now)
        history.aimedPhases = schedule.phases
        history.killsAimedPerRole = schedule.killsPerRole
    }

    /// Runs to the end, or to what keeps it from going on; the history says which.
    func run() throws {
        do {
            try begin()
            remaining = schedule.plans[...]
            while let plan = remaining.popFirst().map(aimedWhereMissing) ?? makeUp() {
                try carryOut(plan)
                progress.show(history)
            }
            try settle()
            try end()
        } catch let error as DrillError where error.kind == .stuck {
            history.obstacle = error.description
            try? household.setKeyNear(false)
        }
        try collect()
    }

    /// Phases that were aimed at and that nobody was killed in, though they can still be reached.
    private var missingPhases: [Phase] {
        let reached = Set(history.kills.map(\.phase))
        return Phase.allCases.filter { phase in
            history.aimedPhases.contains(phase) && !reached.contains(phase) && !(phase == .enrolment && isEnrolled)
        }
    }

    /// Of the phases that can still be reached, the one with the fewest kills.
    private var neediestPhase: Phase {
        let counts = Dictionary(grouping: history.kills, by: \.phase).mapValues(\.count)
        let open = Phase.allCases.filter { $0 != .enrolment }
        return open.min { counts[$0] ?? 0 < counts[$1] ?? 0 } ?? .idle
    }

    /// Kills need not land where they were aimed. A phase that gets its share anyway gives to one that would get none.
    private func aimedWhereMissing(_ plan: KillPlan) -> KillPlan {
        let coming = Set(remaining.map(\.phase))
        guard !missingPhases.contains(plan.phase), let phase = missingPhases.first(where: { !coming.contains($0) })
        else { return plan }
        return .sure(plan.role, phase)
    }

    /// One more for a phase that was missed to the last.
    private func makeUp() -> KillPlan? {
        guard let phase = missingPhases.first, history.kills.count < schedule.plans.count + Self.makeUpsMaximum else {
            return nil
        }
        return .sure(.lock, phase)
    }

    // MARK: The beginning and the end

    /// Both are launched twice: once to be made, once to count what a launch takes.
    private func begin() throws {
        for role in Role.allCases {
            try launch(role)
            try awaitLife(role)
            try household.stop(role)
            let trace = "\(household.directory.traces)/launch-\(role.rawValue)"
            try launch(role, countingTo: trace)
            try awaitLife(role)
            launchCalls[role] = Calls.counts(DrillDirectory.read(trace))
            try household.stop(role)
            try launch(role)
            try awaitLife(role)
        }
    }

    /// From here on only controllers that are new belong to this life.
    @discardableResult
    private func launch(_ role: Role, aim: Aim? = nil, countingTo trace: String? = nil) throws -> ProcessHandle {
        observer.poll()
        lastLife[role] = observer.lastOrdinal
        return try household.start(role, aim: aim, countingTo: trace)
    }

    /// The controller of a role's present life, once its host has shown itself.
    private func presentStation(_ role: Role) -> AirObserver.Station? {
        observer.latest(role).flatMap { $0.ordinal > lastLife[role] ?? 0 ? $0 : nil }
    }

    private func end() throws {
        try household.setKeyNear(false)
        try awaitQuiet()
        for role in Role.allCases { try household.stop(role) }
    }

    /// Waits until a role is on the air as it should be, and answers; what its controller has been told.
    @discardableResult
    private func awaitLife(_ role: Role) throws -> AirObserver.Station {
        var found: AirObserver.Station?
        try waiter.until("the \(role.rawValue) comes up", seconds: Household.patienceSeconds) {
            guard household.isAlive(role) else { throw DrillError(.stuck, "the \(role.rawValue) ended at its launch") }
            observer.poll()
            guard let station = presentStation(role) else { return false }
            guard role == .lock ? station.advertisedAt != nil : station.broughtUpAt != nil else { return false }
            found = station
            return true
        }
        try waiter.until("the \(role.rawValue) answers", seconds: Household.patienceSeconds) {
            let answer = try household.ask(role, PeripheralRequest.status)?
                .finish(until: Clock.now + Clock.milliseconds(1000))
            if case .success = answer { return true }
            return false
        }
        guard let found else { throw DrillError(.stuck, "the \(role.rawValue) was not seen") }
        return found
    }

    /// Until nobody has a link.
    func awaitQuiet() throws {
        try waiter.until("links end", seconds: Household.patienceSeconds) {
            observer.poll()
            return !observer.hasLink(.lock) && !observer.hasLink(.key)
        }
    }

    // MARK: One kill

    private func carryOut(_ given: KillPlan) throws {
        var plan = given
        if plan.phase == .enrolment {
            // Once its keys are exchanged an enrolment goes on by itself, kills or not.
            try awaitEnrolmentLeft()
            if isEnrolled { plan = .sure(plan.role, neediestPhase) }
        }
        if plan.phase != .enrolment { try settle() }
        // Only a bolt that is shut can be opened.
        if plan.phase == .committed, try household.movements().last?.opens == true { try commandToItsEnd() }
        try household.setKeyNear(plan.phase == .enrolment)
        try awaitQuiet()
        let means = try prepare(plan)
        var asked: (exchange: DaemonExchange?, index: Int)?
        switch plan.phase {
        case .restoring: break
        case .idle:
            if case .moment(let permille) = plan.means { try sleep(permille, of: Self.idleMilliseconds) }
        case .enrolment: try openEnrolment()
        case .connecting, .connected, .committed: asked = try ask(plan.opens)
        }
        try approach(plan)
        try awaitDeath(plan)
        try bury(plan, means, asked)
    }

    /// Brings the victim to where the kill counts from; how the kill is told.
    private func prepare(_ plan: KillPlan) throws -> String {
        let role = plan.role
        switch (plan.means, plan.phase) {
        case (.moment(let permille), .restoring):
            try household.stop(role)
            try launch(role)
            let usual = history.restarts.last { $0.role == role }?.restoreNanoseconds ?? 20_000_000
            try waiter.sleep(microseconds: usual / 1000 * UInt64(permille) / 1200)
            return "a moment"
        case (.moment, _): return "a moment"
        case (.systemCall(let name, let number), _):
            var aim = Aim(name: name, number: number, path: nil)
            if name == "flock" { aim.path = household.directory.database(role) + ".lock" }
            if plan.phase == .committed, role == .lock {
                aim.path = household.directory.boltJournal
            } else if plan.phase != .restoring {
                aim.number += launchCalls[role]?[name] ?? 0
            }
            try household.stop(role)
            try launch(role, aim: aim)
            if plan.phase != .restoring {
                // It may come sooner than it was meant to: then that is when it came.
                do { try awaitLife(role) } catch let error as DrillError where error.kind == .stuck {
                    if household.isAlive(role) { throw error }
                }
            }
            return "\(name) number \(aim.number)"
        }
    }

    /// Does what leads into the phase.
    private func approach(_ plan: KillPlan) throws {
        switch (plan.phase, plan.means) {
        case (.connecting, .moment(let permille)):
            // Half of them while nobody is near, half on the way in.
            if permille % 2 == 0 { try household.setKeyNear(true) }
            try sleep(permille, of: Self.connectingMilliseconds)
        case (.connecting, .systemCall), (.committed, _): try household.setKeyNear(true)
        case (.connected, let means):
            try household.setKeyNear(true)
            if case .moment(let permille) = means {
                let deadline = Clock.now + Clock.milliseconds(Self.aimSeconds * 1000)
                while !observer.hasLink(plan.role), household.isAlive(plan.role), Clock.now < deadline {
                    try waiter.sleep(milliseconds: 1)
                    observer.poll()
                }
                try sleep(permille, of: Self.connectedMilliseconds)
            }
        case (.enrolment, .moment(let permille)): try sleep(permille, of: Self.enrolmentMilliseconds)
        case (.enrolment, .systemCall), (.idle, _), (.restoring, _): break
        }
    }

    private func sleep(_ permille: Int, of milliseconds: UInt64) throws {
        try waiter.sleep(microseconds: UInt64(permille) * milliseconds)
    }

    private func awaitDeath(_ plan: KillPlan) throws {
        isEnrolling = enrolment?.command.hasEnded == false
        guard case .systemCall = plan.means else { return household.kill(plan.role) }
        let deadline = Clock.now + Clock.milliseconds(Self.aimSeconds * 1000)
        while Clock.now < deadline {
            if try household.awaitEnd(plan.role, until: Clock.now + Clock.milliseconds(5)) { return }
            switch plan.phase {
            // Nothing happens by itself: somebody has to ask.
            case .idle:
                _ = try? household.ask(plan.role, PeripheralRequest.status)?
                    .finish(until: Clock.now + Clock.milliseconds(200))
            case .enrolment:
                if enrolment?.command.end == .exited(0) {
                    isEnrolling = false
                    return household.kill(plan.role)
                }
            case .connecting, .committed, .restoring, .connected: break
            }
        }
        household.kill(plan.role)
    }

    /// Writes the kill down with its evidence, and brings the dead back.
    private func bury(_ plan: KillPlan, _ means: String, _ asked: (exchange: DaemonExchange?, index: Int)?) throws {
        let role = plan.role
        let at = Clock.now
        observer.poll()
        let finding = try household.look(role, checkingIntegrity: true)
        history.damage += finding.faults.map { "database of the \(role.rawValue): \($0)" }
        let (phase, evidence) = try classify(role, finding, isCommandOut: asked != nil)
        observer.ended(role, at: at)
        history.kills.append(History.Kill(role: role, at: at, phase: phase, means: means, evidence: evidence))
        endEnrolmentAttempt()
        try household.setKeyNear(false)
        if plan.downMilliseconds > 0, phase == .committed { try waiter.sleep(milliseconds: plan.downMilliseconds) }
        try restart(role, finding)
        if let asked { try hear(asked) }
        if isEnrolled { try settle() }
    }

    /// Where the kill came, from what it left.
    private func classify(_ role: Role, _ finding: DatabaseAuditor.Finding, isCommandOut: Bool) throws -> (
        Phase, String
    ) {
        // A life that ended before its controller heard of it has no station of its own.
        let station = presentStation(role)
        guard role == .lock ? station?.advertisedAt != nil : station?.broughtUpAt != nil else {
            return (.restoring, "it had not got its controller to where it was")
        }
        if isEnrolling, enrolment?.command.end != .exited(0) { return (.enrolment, "the enrolment window was open") }
        if role == .lock, let intent = finding.intent,
            try !household.movements().contains(where: { $0.intent == intent })
        {
            return (.committed, "intent \(intent) was on disk, and no movement in the journal")
        }
        if role == .key {
            if let challenge = finding.sent.first(where: { !observer.hasSent($0) }) {
                return (.committed, "the command for challenge \(challenge) was on disk, and not on the air")
            }
            if finding.hasRequest, !finding.kept.pendingConnections.isEmpty, station?.createConnectionAt == nil {
                return (.committed, "a pending connection was on disk, and the controller had not heard of it")
            }
        }
        if station?.links.isEmpty == false { return (.connected, "its controller had a link") }
        if isCommandOut { return (.connecting, "a command was asked for, and there was no link") }
        return (.idle, "no link, no command")
    }

    private func restart(_ role: Role, _ finding: DatabaseAuditor.Finding) throws {
        var promised = finding.kept
        if !finding.hasRequest { promised.pendingConnections = [] }
        if isEnrolled, role == .lock {
            for (handle, value) in observer.confirmedSubscriptions where value != 0 {
                promised.subscriptions.insert("confirmed subscription by \(handle)")
            }
        }
        let process = try launch(role)
        var restart = History.Restart(role: role, at: process.startedAt, promised: promised, found: History.Kept())
        unfollowed.append(history.restarts.count)
        do {
            let station = try awaitLife(role)
            let upAt = role == .lock ? station.advertisedAt : station.broughtUpAt
            restart.restoreNanoseconds = upAt.map { $0 > process.startedAt ? $0 - process.startedAt : 0 }
            restart.advertisesAgain = role == .lock ? station.advertisedAt != nil : nil
            if role == .key, !promised.pendingConnections.isEmpty {
                restart.connectsAgain = try awaitReconnection(role)
            }
        } catch let error as DrillError where error.kind == .stuck {
            history.restarts.append(restart)
            throw error
        }
        let found = try household.look(role)
        restart.found = found.kept
        for (handle, value) in found.configurations where value != 0 {
            restart.found.subscriptions.insert("confirmed subscription by \(handle)")
        }
        // What was asked for came to its end meanwhile.
        if !found.hasRequest { restart.promised.pendingConnections = [] }
        history.restarts.append(restart)
    }

    private func awaitReconnection(_ role: Role) throws -> Bool {
        let deadline = Clock.now + Clock.milliseconds(2000)
        while Clock.now < deadline {
            observer.poll()
            if presentStation(role)?.createConnectionAt != nil { return true }
            try waiter.sleep(milliseconds: 2)
        }
        return false
    }
}

// MARK: Commands

extension Scenario {
    /// Asks the key for a movement. Without a key there is nobody to ask.
    func ask(_ opens: Bool) throws -> (exchange: DaemonExchange?, index: Int) {
        let request = CentralRequest.Command(
            operation: opens ? .unlock : .lock, lock: nil, waitSeconds: Self.commandWaitSeconds)
        let index = history.asked.count
        history.asked.append(History.Asked(opens: opens, at: Clock.now, answeredAt: nil, verdict: nil))
        return (household.ask(.key, CentralRequest.command(request)), index)
    }

    /// What became of a command while somebody died; whoever died with the answer says nothing.
    private func hear(_ asked: (exchange: DaemonExchange?, index: Int)) throws {
        let answer = try? asked.exchange?.finish(until: Clock.now + Clock.milliseconds(20))
        note(answer ?? nil, asked.index)
    }

    func note(_ answer: Result<JSONObject, ControlFailure>?, _ index: Int) {
        guard let answer else { return }
        history.asked[index].answeredAt = Clock.now
        switch answer {
        case .success(let result): history.asked[index].verdict = result["outcome"]?.string ?? "done"
        case .failure(let failure): history.asked[index].verdict = "\(failure.code.rawValue): \(failure.message)"
        }
    }

    /// An accepted command, and then the attacker: what follows every restart.
    private func settle() throws {
        try finishEnrolment()
        guard !unfollowed.isEmpty else { return }
        try commandToItsEnd()
        for index in unfollowed { history.restarts[index].commandFollowed = true }
        // The key lets go by itself; out of range first, its last word would be lost and the link hang on.
        try awaitQuiet()
        try household.setKeyNear(false)
        try replayEverything()
        for index in unfollowed { history.restarts[index].replaysFollowed = true }
        unfollowed = []
        if history.restarts.count % Self.delayedEvery == 1 { try delayPastChallenge() }
        progress.show(history)
    }

    /// Asks until something is accepted.
    func commandToItsEnd() throws {
        let deadline = Clock.now + Clock.milliseconds(30_000)
        try household.setKeyNear(true)
        while true {
            let opens = try household.movements().last.map { !$0.opens } ?? true
            let asked = try ask(opens)
            let answer = try? asked.exchange?.finish(until: min(deadline, Clock.now + Clock.milliseconds(12_000)))
            note(answer ?? nil, asked.index)
            if history.asked[asked.index].isAccepted { return }
            guard Clock.now < deadline else {
                let last = history.asked[asked.index].verdict ?? "no answer"
                throw DrillError(.stuck, "no command is accepted any more; the last answer: \(last)")
            }
            try waiter.sleep(milliseconds: 200)
        }
    }
}

// MARK: Enrolment

extension Scenario {
    /// Opens the window at the lock and gives its code to the key.
    func openEnrolment() throws {
        endEnrolmentAttempt()
        observer.forgetSubscriptions()
        let request = PeripheralRequest.enroll(
            .init(credential: "drill", method: .oob, role: .owner, seconds: 60))
        guard let window = household.ask(.lock, request) else { return }
        let deadline = Clock.now + Clock.milliseconds(3_000)
        while let reply = try? window.next(until: deadline) {
            if case .event("window", let fields) = reply, let code = fields["setup_code"]?.string {
                enrolment = (window, try household.enrolmentCommand(code: code))
                return
            }
            if case .event = reply { continue }
            return
        }
    }

    func endEnrolmentAttempt() {
        guard let enrolment else { return }
        if enrolment.command.hasEnded, enrolment.command.end == .exited(0) { isEnrolled = true }
        enrolment.command.kill()
        self.enrolment = nil
    }

    /// What an interrupted enrolment left is confirmed, or given up.
    private func awaitEnrolmentLeft() throws {
        guard !isEnrolled else { return }
        try household.setKeyNear(true)
        try waiter.until("an interrupted enrolment ends", seconds: 40) {
            let answer = try household.ask(.key, CentralRequest.status)?
                .finish(until: Clock.now + Clock.milliseconds(1000))
            guard case .success(let status) = answer else { return false }
            isEnrolled = status["locks"]?.array?.isEmpty == false
            return isEnrolled || status["enrolling"]?.bool == false && status["unconfirmed"]?.number == 0
        }
    }

    /// Enrols, as often as it takes.
    func finishEnrolment() throws {
        let deadline = Clock.now + Clock.milliseconds(90_000)
        try awaitEnrolmentLeft()
        while !isEnrolled {
            guard Clock.now < deadline else { throw DrillError(.stuck, "the key cannot be enrolled") }
            try openEnrolment()
            if let command = enrolment?.command {
                _ = try command.wait(waiter, until: Clock.now + Clock.milliseconds(25_000))
            }
            endEnrolmentAttempt()
            if !isEnrolled {
                try waiter.sleep(milliseconds: 100)
                try awaitEnrolmentLeft()
            }
        }
    }
}
