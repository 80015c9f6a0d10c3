/// What `latch-lab drill processes` was asked for.
struct DrillOptions: Equatable, Sendable {
    /// A fault that a build made for it puts into the product, to see the drill find it.
    enum Plant: String, CaseIterable, Sendable { case lost, duplicate, late, replay, subscription }

    static let defaultKills = 10
    static let maximumKills = 1000

    /// Of each role.
    var kills = defaultKills
    var seed: UInt64 = 1
    var isJSON = false
    var report: String?
    /// The program under test, if not the one beside this.
    var latch: String?
    /// A database for each role, instead of one for both.
    var isSeparate = false
    var plant: Plant?

    enum Parsed: Equatable {
        case run(DrillOptions)
        case help
    }

    struct UsageError: Error, Equatable {
        let message: String
    }

    static func parse(_ words: [String]) throws(UsageError) -> Parsed {
        var options = DrillOptions()
        var seen: Set<String> = []
        var rest = words[...]
        while let word = rest.popFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let name = parts.first ?? word
            guard seen.insert(name).inserted else { throw UsageError(message: "option `\(name)` is given twice") }
            func value() throws(UsageError) -> String {
                guard let value = parts.count > 1 ? parts[1] : rest.popFirst(), !value.isEmpty else {
                    throw UsageError(message: "option `\(name)` needs a value")
                }
                return value
            }
            switch name {
            case "--help", "-h": return .help
            case "--json", "--separate":
                guard parts.count == 1 else { throw UsageError(message: "option `\(name)` takes no value") }
                if name == "--json" { options.isJSON = true } else { options.isSeparate = true }
            case "--kills": options.kills = try number(value(), name, in: 1...maximumKills)
            case "--seed": options.seed = try number(value(), name, in: 0...UInt64.max)
            case "--report": options.report = try value()
            case "--latch": options.latch = try value()
            case "--plant":
                let text = try value()
                guard let plant = Plant(rawValue: text) else {
                    let known = Plant.allCases.map(\.rawValue).joined(separator: ", ")
                    throw UsageError(message: "option `--plant` must be one of \(known), not `\(text)`")
                }
                options.plant = plant
            default: throw UsageError(message: "unknown option `\(name)` for `latch-lab drill processes`")
            }
        }
        return .run(options)
    }

    private static func number<Number: FixedWidthInteger>(
        _ text: String, _ name: String, in range: ClosedRange<Number>
    ) throws(UsageError) -> Number {
        guard let number = Number(text), range.contains(number) else {
            throw UsageError(
                message: "option `\(name)` must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    static let help = """
        Usage: latch-lab drill processes [OPTIONS]

        Runs a radio of this program's and a lock and a key of `latch` as processes, kills the lock and the key with
        SIGKILL in every phase of their lives, restarts them, replays to the lock what the key ever signed, and checks
        from outside that nothing was lost, done twice, done late or accepted from a stranger. Needs strace.

        Options:
          --kills N       Kills of each role; \(defaultKills) by default. From 3 on every phase gets its share.
          --seed S        Which schedule; 1 by default. The same seed makes the same decisions.
          --json          One JSON object on standard output, for programs.
          --report DIR    Write a page of HTML, result.json and the capture of the air there.
          --latch PATH    The `latch` to drill; the one beside this program by default.
          --separate      A database for each role, instead of one for both.
          --plant FAULT   Break the product on purpose, which must be found: \(
            Plant.allCases.map(\.rawValue).joined(separator: ", ")).
                          Only in a build, of both programs, made with `swift build -Xswiftc -DLATCH_PLANTS`.

        Exit status: 0 when every promise held, 1 when not, 2 when the command line is wrong, 4 when the drill could not
        be run.

        """
}
