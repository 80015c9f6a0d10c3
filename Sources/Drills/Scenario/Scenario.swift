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
    var launchCalls: [Role: [String: Int]] = [:]
    var isEnrolled = false
    /// An enrolment window that is held open, and the key's side of it.
    var enrolment: (window: DaemonExchange, command: ProcessHandle)?
    var thief: Attacker?
    var remaining: ArraySlice<KillPlan> = []
    /// Restarts that no accepted command, or no replays, have followed yet.
    var unfollowed: [Int] = []
    /// Whether an enrolment was under way when somebody was killed: the key's side of it ends with either.
    var isEnrolling = false
    /// The last controller before each role's present life.
    var lastLife: [Role: Int] = [:]

    /// As long as each phase usually takes: what a moment is a share of.
    static let enrolmentMilliseconds: UInt64 = 330
    static let connectingMilliseconds: UInt64 = 150
    static let connectedMilliseconds: UInt64 = 120
    static let idleMilliseconds: UInt64 = 100
    /// How long a system call that was aimed at is waited for.
    static let aimSeconds: UInt64 = 4
    static let commandWaitSeconds: Int64 = 30
    static let makeUpsMaximum = 6
    /// Every so many restarts something is delayed past its challenge.
    static let delayedEvery = 6

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
    var missingPhases: [Phase] {
        let reached = Set(history.kills.map(\.phase))
        return Phase.allCases.filter { phase in
            history.aimedPhases.contains(phase) && !reached.contains(phase) && !(phase == .enrolment && isEnrolled)
        }
    }

    /// Of the phases that can still be reached, the one with the fewest kills.
    var neediestPhase: Phase {
        let counts = Dictionary(grouping: history.kills, by: \.phase).mapValues(\.count)
        let open = Phase.allCases.filter { $0 != .enrolment }
        return open.min { counts[$0] ?? 0 < counts[$1] ?? 0 } ?? .idle
    }

    /// Kills need not land where they were aimed. A phase that gets its share anyway gives to one that would get none.
    func aimedWhereMissing(_ plan: KillPlan) -> KillPlan {
        let coming = Set(remaining.map(\.phase))
        guard !missingPhases.contains(plan.phase), let phase = missingPhases.first(where: { !coming.contains($0) })
        else { return plan }
        return .sure(plan.role, phase)
    }

    /// One more for a phase that was missed to the last.
    func makeUp() -> KillPlan? {
        guard let phase = missingPhases.first, history.kills.count < schedule.plans.count + Self.makeUpsMaximum else {
            return nil
        }
        return .sure(.lock, phase)
    }

    // MARK: The beginning and the end

    /// Both are launched twice: once to be made, once to count what a launch takes.
    func begin() throws {
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
    func launch(_ role: Role, aim: Aim? = nil, countingTo trace: String? = nil) throws -> ProcessHandle {
        observer.poll()
        lastLife[role] = observer.lastOrdinal
        return try household.start(role, aim: aim, countingTo: trace)
    }

    /// The controller of a role's present life, once its host has shown itself.
    func presentStation(_ role: Role) -> AirObserver.Station? {
        observer.latest(role).flatMap { $0.ordinal > lastLife[role] ?? 0 ? $0 : nil }
    }

    func end() throws {
        try household.setKeyNear(false)
        try awaitQuiet()
        for role in Role.allCases { try household.stop(role) }
    }

    /// Waits until a role is on the air as it should be, and answers; what its controller has been told.
    @discardableResult
    func awaitLife(_ role: Role) throws -> AirObserver.Station {
        var found: AirObserver.Station?
        try waiter.until("the \(role.rawValue) comes up", seconds: Household.patienceSeconds) {
            try checkIsAlive(role)
            observer.poll()
            guard let station = presentStation(role) else { return false }
            guard role == .lock ? station.advertisedAt != nil : station.broughtUpAt != nil else { return false }
            found = station
            return true
        }
        try waiter.until("the \(role.rawValue) answers", seconds: Household.patienceSeconds) {
            try checkIsAlive(role)
            return try household.status(of: role) != nil
        }
        guard let found else { throw DrillError(.stuck, "the \(role.rawValue) was not seen") }
        return found
    }

    private func checkIsAlive(_ role: Role) throws {
        guard household.isAlive(role) else { throw DrillError(.stuck, "the \(role.rawValue) ended at its launch") }
    }

    /// Until nobody has a link.
    func awaitQuiet() throws {
        try waiter.until("links end", seconds: Household.patienceSeconds) {
            observer.poll()
            return !observer.hasLink(.lock) && !observer.hasLink(.key)
        }
    }
}
