/// Where a process is killed: at its `number`th system call, counted in that very run from the exec on.
struct CallPoint: Hashable, Sendable {
    var role: Role
    var side: CallTrace.Side
    /// 0: nowhere.
    var number: Int
    /// How long the victim stays dead; nil: as its number says.
    var downMilliseconds: UInt64?

    /// How long the victim stays dead, once it is known whether an opening waits for it. Lives differ by a few calls, so the choice is
    /// made in the life itself: past the deadline at every other call.
    func down(withOpening isOpening: Bool) -> UInt64 {
        downMilliseconds ?? (isOpening && number % 2 == 1 ? CaseRun.pastDeadlineMilliseconds : 0)
    }

    /// The same call, with the other choice; nil where there is none.
    func otherChoice(withOpening isOpening: Bool) -> CallPoint? {
        guard isOpening, downMilliseconds == nil else { return nil }
        var other = self
        other.downMilliseconds = down(withOpening: true) == 0 ? CaseRun.pastDeadlineMilliseconds : 0
        return other
    }

    /// The command line that comes back to this point alone.
    func replay(seed: UInt64, plant: DrillOptions.Plant?) -> String {
        var words = [
            "latch-lab", "drill", "syscalls", "--role", role.rawValue, "--from", "\(number)", "--to", "\(number)",
        ]
        if side == .exit { words += ["--at", side.rawValue] }
        if let downMilliseconds { words += ["--down", "\(downMilliseconds)"] }
        if let plant { words += ["--plant", plant.rawValue] }
        return (words + ["--seed", "\(seed)"]).joined(separator: " ")
    }
}

/// What became of one point: the figures of a report, and a line of the ledger.
struct CaseResult: CaseOutcome, Hashable {
    enum Verdict: String, Sendable {
        case ok
        /// The run ended before its call came.
        case beyond
        case violated
    }

    var point: CallPoint
    var verdict: Verdict
    /// The name of the call at which the victim was killed.
    var call: String?
    var restoreMicroseconds: UInt64?
    var milliseconds: UInt64
    var violations: [String] = []
    /// Whether the victim was killed with an opening between commit and act. A ledger does not keep it.
    var hadOpening = false

    var isViolated: Bool { verdict == .violated }
}
