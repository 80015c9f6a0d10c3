/// Where the power of a machine goes: at the `number`th write or flush of its disk, counted from the launch.
struct CutPoint: Hashable, Sendable {
    var role: Role
    /// 0: nowhere.
    var number: Int
    /// What the medium keeps (``Survivors``).
    var choice: Int

    /// Chance differs from point to point.
    var chance: UInt64 { UInt64(role == .lock ? 1 : 2) << 48 | UInt64(number) << 16 | UInt64(choice) }

    /// How long the machine stays without power, once it is known whether an opening waits for it: past its deadline at every other
    /// choice.
    func down(withOpening isOpening: Bool) -> UInt64 {
        isOpening && choice % 2 == 1 ? CaseRun.pastDeadlineMilliseconds : 0
    }

    /// The command line that comes back to this point alone.
    func replay(seed: UInt64, options: MachineOptions) -> String {
        var words = [
            "latch-lab", "drill", "machine", "--role", role.rawValue, "--from", "\(number)", "--to", "\(number)",
            "--choice", "\(choice)",
        ]
        if options.lies { words.append("--lying") }
        if let plant = options.common.plant { words += ["--plant", plant.rawValue] }
        return (words + ["--seed", "\(seed)"]).joined(separator: " ")
    }
}

/// What became of one cut.
struct CutResult: CaseOutcome, Hashable {
    var point: CutPoint
    /// nil: the life ended before its operation came.
    var operation: CutDisk.Operation?
    /// What no flush had confirmed, and what the medium had of it.
    var unflushedWrites = 0
    var unflushedOctets = 0
    var keptOctets = 0
    var restoreMicroseconds: UInt64?
    var milliseconds: UInt64
    var violations: [String] = []

    var isViolated: Bool { !violations.isEmpty }
}
