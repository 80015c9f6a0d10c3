/// A small random generator that gives the same numbers for the same seed everywhere (SplitMix64).
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// One kill as it was decided before anything ran.
struct KillPlan: Hashable, Sendable {
    enum Means: Hashable, Sendable {
        /// At this share of the phase's usual length, in thousandths.
        case moment(permille: Int)
        /// On entering the `number`th call of this name, counted from the launch or, in phases that come later, from
        /// the calls that a launch takes.
        case systemCall(String, number: Int)
    }

    var role: Role
    var phase: Phase
    var means: Means
    /// How long the process stays dead.
    var downMilliseconds: UInt64
    /// Whether the command that the kill interrupts opens, rather than locks.
    var opens: Bool
}

extension KillPlan {
    /// One that does not miss its phase.
    static func sure(_ role: Role, _ phase: Phase) -> Self {
        let means: Means =
            switch (phase, role) {
            case (.committed, .lock): .systemCall("write", number: 1)
            case (.committed, .key): .systemCall("flock", number: 4)
            // Odd: while nobody is near.
            default: .moment(permille: 301)
            }
        return Self(role: role, phase: phase, means: means, downMilliseconds: 0, opens: true)
    }
}

/// Every decision of a drill, made from its seed: who is killed, in which phase, by what means.
///
/// Phases are dealt like cards, so that each gets its share of both roles; half of the kills are at a moment, half at a
/// system call. Enrolments come first, because a key enrols once.
struct Schedule: Equatable, Sendable {
    let seed: UInt64
    let plans: [KillPlan]

    /// How long an opening that was committed stays without its movement before the lock comes back: past its deadline.
    static let pastDeadlineMilliseconds: UInt64 = 2_300

    init(seed: UInt64, killsPerRole: Int) {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        var drafts: [(role: Role, phase: Phase)] = []
        let phases = Phase.allCases.shuffled(using: &random)
        for (offset, role) in Role.allCases.enumerated() {
            for index in 0..<killsPerRole {
                // The key begins half-way, so that a few kills already reach every phase.
                drafts.append((role, phases[(index + offset * phases.count / 2) % phases.count]))
            }
        }
        Self.giveTheLockACommit(&drafts)
        var order = drafts.indices.shuffled(using: &random)
        order.sort { (drafts[$0].phase == .enrolment) && (drafts[$1].phase != .enrolment) }
        let systemCalls = Self.chosenForSystemCalls(drafts.map(\.phase), &random)
        var openings = 0
        plans = order.map { index in
            let (role, phase) = drafts[index]
            let means: KillPlan.Means =
                systemCalls.contains(index)
                ? Self.systemCall(role, phase, &random) : .moment(permille: Int.random(in: 0..<1000, using: &random))
            var plan = KillPlan(role: role, phase: phase, means: means, downMilliseconds: 0, opens: true)
            plan.opens = phase == .committed || Bool.random(using: &random)
            if role == .lock, phase == .committed {
                // In turns: back too late, before the bolt was told, and back in time.
                if openings.isMultiple(of: 2) {
                    plan.downMilliseconds = Self.pastDeadlineMilliseconds
                    plan.means = .systemCall("write", number: 1)
                }
                openings += 1
            }
            return plan
        }
    }

    private init(seed: UInt64, plans: [KillPlan]) {
        self.seed = seed
        self.plans = plans
    }

    /// The households in which all of this happens. One key enrols at one lock once: every interrupted enrolment beyond
    /// the first has a lock and a key of its own.
    var households: [Schedule] {
        let enrolments = plans.filter { $0.phase == .enrolment }
        let first = enrolments.prefix(1) + plans.filter { $0.phase != .enrolment }
        return [Schedule(seed: seed, plans: Array(first))]
            + enrolments.dropFirst().map { Schedule(seed: seed, plans: [$0]) }
    }

    /// How often each role is killed at least.
    var killsPerRole: Int { Role.allCases.map { role in plans.count { $0.role == role } }.min() ?? 0 }

    /// The phases that must not be missed: all, unless there are fewer kills than phases.
    var phases: Set<Phase> {
        let aimed = Set(plans.map(\.phase))
        return aimed.count == Phase.allCases.count ? aimed : []
    }

    /// A door that opens late is the lock's to prevent: of few kills too, one comes between its commit and its act.
    private static func giveTheLockACommit(_ drafts: inout [(role: Role, phase: Phase)]) {
        guard !drafts.contains(where: { $0 == (.lock, .committed) }),
            let given = drafts.firstIndex(where: { $0 == (.key, .committed) }),
            let taken = drafts.firstIndex(where: { $0.role == .lock })
        else { return }
        drafts[given].phase = drafts[taken].phase
        drafts[taken].phase = .committed
    }

    /// Half of all, and among them every kill between commit and act: no clock hits that.
    private static func chosenForSystemCalls(_ phases: [Phase], _ random: inout SeededRandom) -> Set<Int> {
        var chosen = Set(phases.indices.filter { phases[$0] == .committed })
        for index in phases.indices.shuffled(using: &random) where chosen.count < phases.count / 2 {
            chosen.insert(index)
        }
        return chosen
    }

    /// Calls that touch files or sockets, and how far the phase usually gets in them.
    static func candidates(_ role: Role, _ phase: Phase) -> [(name: String, numbers: ClosedRange<Int>)] {
        switch (phase, role) {
        case (.committed, .lock): [("write", 1...1), ("fdatasync", 1...1)]
        // Unlocking the store's lock file is the first thing after a commit; every second call is that.
        case (.committed, .key): [("flock", 1...4)]
        case (.restoring, _):
            [
                ("openat", 4...40), ("pread64", 1...12), ("fcntl", 1...20), ("flock", 1...4), ("fdatasync", 1...2),
                ("pwrite64", 1...4), ("connect", 1...1), ("recvfrom", 1...6), ("read", 4...20), ("epoll_wait", 1...8),
                ("write", 1...4), ("sendto", 1...6),
            ]
        case (.enrolment, _):
            [
                ("fdatasync", 1...4), ("pwrite64", 1...16), ("flock", 1...10), ("fcntl", 1...20),
                ("epoll_wait", 4...60),
                ("read", 2...60), ("write", 2...40), ("sendto", 1...30), ("recvfrom", 1...30),
            ]
        case (.connecting, _), (.connected, _):
            [
                ("fdatasync", 1...3), ("pwrite64", 1...10), ("flock", 1...6), ("fcntl", 1...12), ("epoll_wait", 2...24),
                ("read", 1...24), ("write", 1...16), ("sendto", 1...12), ("recvfrom", 1...12),
            ]
        case (.idle, _): [("epoll_wait", 1...4), ("recvfrom", 1...3), ("sendto", 1...2), ("accept4", 1...3)]
        }
    }

    private static func systemCall(_ role: Role, _ phase: Phase, _ random: inout SeededRandom) -> KillPlan.Means {
        let candidates = candidates(role, phase)
        let chosen = candidates[Int.random(in: candidates.indices, using: &random)]
        let number = Int.random(in: chosen.numbers, using: &random)
        return .systemCall(chosen.name, number: phase == .committed && role == .key ? 2 * number : number)
    }
}
