/// Plays one life of a program with its faults. The life ends when the program owes nothing more, or when its time is over.
final class AppCase {
    private let plan: AppPlan
    private let rules: AppRules
    private let house: AppHouse
    private let waiter: Waiter
    private(set) var history = AppHistory()
    /// How many system calls each run made.
    private(set) var calls: [Int] = []
    private var firstTrace: CallTrace?
    private var trace: CallTrace
    private var rest: ArraySlice<AppFault>
    /// Whether the drill itself ended the present run.
    private var isKilled = false
    /// When the program was last started or last met a fault. From then on it has the time of `within` for what it owes.
    private var disturbedAt: UInt64 = 0
    private var lastCount: UInt64 = 0
    private var countedAt: UInt64 = 0
    private var owedNothingSince: UInt64?

    private static let pollMilliseconds: UInt64 = 2
    private static let quietMilliseconds: UInt64 = 60
    private static let unquietMilliseconds: UInt64 = 1_000
    private static let awayMilliseconds: UInt64 = 300

    init(_ plan: AppPlan, _ rules: AppRules, _ house: AppHouse, waiter: Waiter) throws {
        self.plan = plan
        self.rules = rules
        self.house = house
        self.waiter = waiter
        rest = plan.faults[...]
        trace = try CallTrace(plan.side)
    }

    /// The names of the first run's calls.
    var callNames: [String] { firstTrace?.names ?? [] }

    /// Returns the broken promises. A promise that is still owed when the time is over is broken too.
    func run() throws -> [AppJudge.Finding] {
        history.began = Clock.now
        defer {
            house.endAll()
            history.ended = Clock.now
        }
        if rules.peer != nil {
            try house.start(.peer)
            try awaitPeer()
        }
        try launch()
        while true {
            try waiter.sleep(milliseconds: Self.pollMilliseconds)
            poll()
            if let failure = trace.failure {
                throw DrillError(.environment, "cannot trace the program: \(failure). ptrace has to be allowed here")
            }
            if try strikeNext() { continue }
            if AppJudge.excuse(history, by: rules) != nil { return [] }
            let verdict = AppJudge.judge(history, by: rules)
            if !verdict.broken.isEmpty { return verdict.broken }
            let isIdle = isIdle(verdict)
            if isIdle, rest.isEmpty { return [] }
            // The program rests and will not reach the next fault's call: the fault comes now.
            if isIdle, let fault = rest.popFirst() { try strike(fault) }
            if Clock.now > disturbedAt + rules.withinSeconds * 1_000_000_000 {
                return verdict.owed.map {
                    AppJudge.Finding(line: $0.line, text: $0.text + " within \(rules.withinSeconds) s")
                }
            }
        }
    }

    // MARK: Watching

    private func awaitPeer() throws {
        let deadline = Clock.now + rules.withinSeconds * 1_000_000_000
        while !house.air.isUp(AppHouse.number(.peer)) {
            poll()
            guard history.deaths.isEmpty, Clock.now < deadline else {
                throw DrillError(
                    .environment,
                    "the peer does not come up on the radio at LATCH_TRANSPORT; see \(house.log(.peer))")
            }
            try waiter.sleep(milliseconds: Self.pollMilliseconds)
        }
    }

    private func launch() throws {
        // The next kill ends this run. The kills after it belong to later runs.
        let kill = rest.first { $0.kind == .kill }
        var number = 0
        if case .call(let call)? = kill?.moment { number = call }
        trace = try CallTrace(plan.side, killAt: UInt64(number))
        firstTrace = firstTrace ?? trace
        history.runs.append(AppHistory.Run(startedAt: Clock.now))
        calls.append(0)
        isKilled = false
        try house.start(.program, under: trace)
        disturb()
    }

    private func disturb() {
        disturbedAt = Clock.now
        owedNothingSince = nil
    }

    private func poll() {
        for side in AppSide.allCases { read(side) }
        for (at, event) in house.air.poll(AppHouse.number(.program)) {
            let run = history.runs.lastIndex { $0.startedAt <= at } ?? 0
            history.seen.append(AppHistory.Seen(at: at, run: run, what: .air(event)))
        }
        if trace.count != lastCount {
            lastCount = trace.count
            countedAt = Clock.now
        }
        if !calls.isEmpty { calls[calls.count - 1] = Int(trace.count) }
        noticeDeaths()
    }

    private func read(_ side: AppSide) {
        for line in house.read(side) {
            history.seen.append(
                AppHistory.Seen(
                    at: Clock.now, run: max(history.runs.count - 1, 0), calls: Int(trace.count),
                    what: .line(side, line)))
        }
    }

    /// A program or a peer that ends without a kill of the drill has broken a promise.
    private func noticeDeaths() {
        guard history.deaths.isEmpty else { return }
        for side in AppSide.allCases {
            guard let end = house.end(of: side), !(side == .program && (isKilled || trace.hasKilled)) else {
                continue
            }
            let how =
                switch end {
                case .exited(let status): "with exit status \(status)"
                case .killed(let signal): "by signal \(signal)"
                }
            history.deaths.append("the \(side.rawValue) ended by itself, \(how): see \(house.log(side))")
        }
    }

    /// Whether nothing is owed and the program has come to rest: it made no call for a moment. One that never stops making calls counts
    /// as resting a second after it owed something last.
    private func isIdle(_ verdict: AppJudge.Verdict) -> Bool {
        guard verdict.owed.isEmpty else {
            owedNothingSince = nil
            return false
        }
        let now = Clock.now
        let since = owedNothingSince ?? now
        owedNothingSince = since
        return now > max(countedAt, since) + Clock.milliseconds(Self.quietMilliseconds)
            || now > since + Clock.milliseconds(Self.unquietMilliseconds)
    }

    // MARK: Faults

    /// Carries out the next fault if its call has been reached; false when it has not.
    private func strikeNext() throws -> Bool {
        guard let fault = rest.first, case .call(let number) = fault.moment, trace.count >= UInt64(number) else {
            return false
        }
        rest.removeFirst()
        try strike(fault)
        return true
    }

    private func strike(_ fault: AppFault) throws {
        let hadLink = house.air.hasLink(AppHouse.number(.program))
        var struck = AppHistory.Struck(
            fault: fault, at: Clock.now, hasTakenLink: hadLink, run: history.runs.count - 1)
        switch fault.kind {
        case .kill:
            isKilled = true
            house.kill(.program)
            poll()
            struck.call = trace.killedAt
            history.runs[history.runs.count - 1].endedAt = Clock.now
        case .cut:
            try house.cut()
            try hold { hadLink && house.air.hasLink(AppHouse.number(.program)) }
            try house.join()
        case .unplug:
            try house.unplug(.program)
            try hold { false }
            try house.plug(.program)
        case .peer:
            house.kill(.peer)
            read(.peer)
            try house.start(.peer)
        }
        struck.overAt = Clock.now
        history.struck.append(struck)
        disturb()
        if fault.kind == .kill { try launch() }
    }

    /// Waits for a moment, and then for as long as the condition holds. The death of a program and the end of the time end the wait
    /// too.
    private func hold(while condition: () -> Bool) throws {
        let begin = Clock.now
        let deadline = begin + rules.withinSeconds * 1_000_000_000
        let least = begin + Clock.milliseconds(Self.awayMilliseconds)
        while Clock.now < least || condition(), Clock.now < deadline, !trace.hasKilled, history.deaths.isEmpty {
            poll()
            try waiter.sleep(milliseconds: Self.pollMilliseconds)
        }
    }
}
