/// What `latch-lab drill processes` was asked for.
struct DrillOptions: Equatable, Sendable {
    /// A fault that a build made for it puts into the product, to see the drill find it.
    enum Plant: String, CaseIterable, Sendable { case lost, duplicate, late, replay, subscription }

    static let defaultKills = 10
    static let maximumKills = 1000

    /// Of each role.
    var kills = defaultKills
    /// nil: a fresh one.
    var seed: UInt64?
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
        var reader = OptionReader(words, command: "processes")
        while let name = try reader.next() {
            switch name {
            case "--help", "-h": return .help
            case "--json": try reader.flag { options.isJSON = true }
            case "--separate": try reader.flag { options.isSeparate = true }
            case "--kills": options.kills = try reader.number(in: 1...maximumKills)
            case "--seed": options.seed = try reader.number(in: 0...UInt64.max)
            case "--report": options.report = try reader.value()
            case "--latch": options.latch = try reader.value()
            case "--plant": options.plant = try reader.choice(Plant.self)
            default: throw reader.unknown
            }
        }
        return .run(options)
    }

    static let help = """
        Usage: latch-lab drill processes [OPTIONS]

        Runs a radio of this program's and a lock and a key of `latch` as processes, kills the lock and the key with
        SIGKILL in every phase of their lives, restarts them, replays to the lock what the key ever signed, and checks
        from outside that nothing was lost, done twice, done late or accepted from a stranger. Needs strace.

        Options:
          --kills N       Kills of each role; \(defaultKills) by default. From 3 on every phase gets its share.
          --seed S        Which schedule; a fresh one by default, which is printed. The same seed makes the same decisions.
          --json          One JSON object on standard output, for programs.
          --report DIR    Write a page of HTML, result.json, junit.xml and the capture of the air there.
          --latch PATH    The `latch` to drill; the one beside this program by default.
          --separate      A database for each role, instead of one for both.
          --plant FAULT   Break the product on purpose, which must be found: \(
            Plant.allCases.map(\.rawValue).joined(separator: ", ")).
                          Only in a build, of both programs, made with `swift build -Xswiftc -DLATCH_PLANTS`.

        Exit status: 0 when every promise held, 1 when not, 2 when the command line is wrong, 4 when the drill could not
        be run.

        """
}
