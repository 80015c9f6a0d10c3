import BluetoothCore

/// What `latch-lab drill app` was asked for.
struct AppOptions: Equatable, Sendable {
    enum Kills: Equatable, Sendable {
        case every
        case some(Int)
    }

    static let defaultKills = 20
    static let defaultStorms = 6
    static let maximumKills = 10_000
    static let maximumJobs = 256

    /// The program and its arguments.
    var program: [String] = []
    /// nil: beside the program.
    var rules: String?
    var kills = Kills.some(defaultKills)
    /// Lives with several faults.
    var storms = defaultStorms
    var side = CallTrace.Side.entry
    var from = 1
    /// nil: as many as the program makes.
    var to: Int?
    /// Exactly these faults, in one life.
    var faults: [AppFault]?
    /// nil: a fresh one.
    var seed: UInt64?
    var isJSON = false
    var isCounting = false
    var report: String?
    /// nil: as many as suit the machine.
    var jobs: Int?

    enum Parsed: Equatable {
        case run(AppOptions)
        case help
    }

    static func parse(_ words: [String]) throws(DrillOptions.UsageError) -> Parsed {
        let split = words.firstIndex(of: "--")
        var options = Self()
        var reader = OptionReader(Array(words[..<(split ?? words.count)]), command: "app")
        while let name = try reader.next() {
            switch name {
            case "--help", "-h": return .help
            case "--rules": options.rules = try reader.value()
            case "--kills": options.kills = try kills(reader.value())
            case "--storms": options.storms = try reader.number(in: 0...maximumKills)
            case "--at": options.side = try reader.choice(CallTrace.Side.self)
            case "--from": options.from = try reader.number(in: 1...AppFault.maximumCall)
            case "--to": options.to = try reader.number(in: 1...AppFault.maximumCall)
            case "--faults": options.faults = try AppFault.list(reader.value())
            case "--seed": options.seed = try reader.number(in: 0...UInt64.max)
            case "--json": try reader.flag { options.isJSON = true }
            case "--count": try reader.flag { options.isCounting = true }
            case "--report": options.report = try reader.value()
            case "--jobs": options.jobs = try reader.number(in: 1...maximumJobs)
            default: throw reader.unknown
            }
        }
        options.program = split.map { Array(words[($0 + 1)...]) } ?? []
        guard !options.program.isEmpty else {
            throw DrillOptions.UsageError(message: "a program is needed, behind `--`: latch-lab drill app -- PROGRAM")
        }
        if let to = options.to, to < options.from {
            throw DrillOptions.UsageError(message: "option `--to` must not be smaller than `--from`")
        }
        return .run(options)
    }

    private static func kills(_ text: String) throws(DrillOptions.UsageError) -> Kills {
        if text == "every" { return .every }
        guard let number = Int(digits: text), (0...maximumKills).contains(number) else {
            throw DrillOptions.UsageError(
                message: "option `--kills` must be `every` or a number from 0 to \(maximumKills), not `\(text)`")
        }
        return .some(number)
    }

    /// The lives to play, once it is known how many calls a whole life makes, and one that is restored.
    func plans(calls: Int, restoredCalls: Int, hasPeer: Bool, seed: UInt64) -> [AppPlan] {
        if let faults { return [AppPlan(faults: faults, side: side)] }
        let last = to ?? calls
        guard from <= last else { return [] }
        var kills = last - from + 1
        if case .some(let number) = self.kills { kills = number }
        return AppPlan.draw(
            kills: kills, storms: storms, calls: from...last, restoredCalls: restoredCalls, side: side,
            hasPeer: hasPeer,
            seed: seed)
    }

    /// The command line that comes back to one life.
    func replay(_ plan: AppPlan, rules: String, seed: UInt64) -> String {
        var words = ["latch-lab", "drill", "app", "--rules", rules]
        if !plan.faults.isEmpty { words += ["--faults", AppFault.text(plan.faults)] }
        if plan.side == .exit { words += ["--at", plan.side.rawValue] }
        return (words + ["--seed", "\(seed)", "--"] + program).map(Self.quoted).joined(separator: " ")
    }

    /// As a shell takes it.
    private static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.unicodeScalars.allSatisfy {
                ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
                    || "-_./,@=:+".unicodeScalars.contains($0)
            }
        return isPlain
            ? word : "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
