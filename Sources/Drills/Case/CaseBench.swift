/// Where cases are played: each in a household of its own, beside witnesses of how the machine fares that plays them.
struct CaseBench: Sendable {
    let programs: Programs
    let template: HouseTemplate
    private let seed: UInt64
    private let witnesses: [MachineWitness]
    private static let repetitionsMaximum = 5

    /// A case as it was seen, and its judge's verdict.
    struct Life {
        let history: CaseHistory
        let found: [CaseViolation]

        var restoreMicroseconds: UInt64? {
            history.restart.flatMap { restart in restart.restoredAt.map { ($0 - restart.at) / 1000 } }
        }

        var milliseconds: UInt64 { (history.ended - history.began) / 1_000_000 }
    }

    /// What one case leaves behind.
    struct Played<Outcome> {
        let outcome: Outcome
        let life: Life
        /// Where a case that failed keeps its files; nil for one that held.
        let directory: String?
        /// Whether nothing was broken but what has to happen by a time.
        let isOfTime: Bool
    }

    /// Runs a drill on a bench whose witnesses watch until the drill is over. A machine that has no disk to watch ends it.
    ///
    /// - Parameter disk: where the daemons' files are, if that is another kind of disk than the households are on.
    static func with<Result>(
        _ programs: Programs, _ template: HouseTemplate, disk: String? = nil, seed: UInt64,
        _ drill: (Self) throws -> Result
    ) throws -> Result {
        let witnesses = [template.directory.path, disk].compactMap { $0 }.map(MachineWitness.init(directory:))
        let watch = try Threads(witnesses.map { witness in { witness.watch() } })
        defer {
            for witness in witnesses { witness.end() }
            watch.join()
        }
        return try drill(Self(programs: programs, template: template, seed: seed, witnesses: witnesses))
    }

    /// Why a witness could not watch; nil when all could.
    var failure: DrillError? { witnesses.lazy.compactMap(\.failure).first }

    func household(_ directory: DrillDirectory, _ waiter: Waiter) throws -> Household {
        try CaseHousehold.make(directory, programs: programs, seed: seed, waiter: waiter)
    }

    /// Lives one life in a household, ended by the executioner.
    func live(
        _ victim: Role, _ executioner: any Executioner, down: @escaping (Bool) -> UInt64, _ household: Household,
        _ waiter: Waiter
    ) throws -> Life {
        let run = CaseRun(victim, executioner, down: down, household, template, waiter: waiter)
        try run.run()
        return Life(history: run.history, found: CaseJudge.violations(of: run.history))
    }

    /// Plays a case, and again while the machine stood still in one that failed by its time, and by nothing else.
    ///
    /// - Parameter repetition: says that the case is played again.
    func play<Outcome>(_ repetition: String, _ once: () throws -> Played<Outcome>) throws -> Played<Outcome> {
        for _ in 0..<Self.repetitionsMaximum {
            let played = try once()
            let history = played.life.history
            guard let directory = played.directory, played.isOfTime,
                let stall = witnesses.compactMap({ $0.stall(from: history.began, to: history.ended) }).max()
            else { return played }
            Progress().say("the machine stood still for \(stall / 1_000_000) ms: \(repetition)")
            DrillDirectory.remove(directory)
        }
        throw DrillError(
            .environment, "the machine stands still again and again: use an idle one, or name a quick disk in TMPDIR")
    }
}
