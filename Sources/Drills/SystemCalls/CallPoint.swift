/// Where a process is killed: at its `number`th system call, counted in that very run from the exec on.
struct CallPoint: Hashable, Sendable {
    var role: Role
    var side: CallTrace.Side
    /// 0: nowhere.
    var number: Int
    /// How long the victim stays dead.
    var downMilliseconds: UInt64 = 0

    /// A lock that was killed between an opening's commit and its act has to come back past the opening's deadline once.
    static let pastDeadlineMilliseconds: UInt64 = 3_500

    /// The command line that comes back to this point alone.
    func replay(seed: UInt64, plant: DrillOptions.Plant?) -> String {
        var words = [
            "latch-lab", "drill", "syscalls", "--role", role.rawValue, "--from", "\(number)", "--to", "\(number)",
        ]
        if side == .exit { words += ["--at", side.rawValue] }
        if downMilliseconds > 0 { words += ["--down", "\(downMilliseconds)"] }
        if let plant { words += ["--plant", plant.rawValue] }
        return (words + ["--seed", "\(seed)"]).joined(separator: " ")
    }
}

/// What became of one point: the figures of a report, and a line of the ledger.
struct CaseResult: Hashable, Sendable {
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
}
