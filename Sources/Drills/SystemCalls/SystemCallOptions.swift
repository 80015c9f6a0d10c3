/// What `latch-lab drill syscalls` was asked for.
struct SystemCallOptions: Equatable, Sendable {
    /// Which share of the points: every `of`th, beginning with the `index`th.
    struct Part: Equatable, Sendable {
        var index = 1
        var of = 1
    }

    static let maximumJobs = 256
    static let maximumNumber = 60_000
    static let maximumDownMilliseconds: UInt64 = 60_000

    var roles = Role.allCases
    var side = CallTrace.Side.entry
    var from = 1
    /// nil: as many as the victim makes.
    var to: Int?
    var part = Part()
    /// nil: a fresh one.
    var seed: UInt64?
    var isJSON = false
    var isCounting = false
    var report: String?
    var latch: String?
    var plant: DrillOptions.Plant?
    var ledger: String?
    /// nil: as many as suit the machine.
    var jobs: Int?
    /// nil: as the point says.
    var downMilliseconds: UInt64?

    enum Parsed: Equatable {
        case run(SystemCallOptions)
        case help
    }

    static func parse(_ words: [String]) throws(DrillOptions.UsageError) -> Parsed {
        var options = Self()
        var reader = OptionReader(words, command: "syscalls")
        while let name = try reader.next() {
            switch name {
            case "--help", "-h": return .help
            case "--json": try reader.flag { options.isJSON = true }
            case "--count": try reader.flag { options.isCounting = true }
            case "--role": options.roles = [try reader.choice(Role.self)]
            case "--at": options.side = try reader.choice(CallTrace.Side.self)
            case "--from": options.from = try reader.number(in: 1...maximumNumber)
            case "--to": options.to = try reader.number(in: 1...maximumNumber)
            case "--part": options.part = try part(reader.value())
            case "--seed": options.seed = try reader.number(in: 0...UInt64.max)
            case "--report": options.report = try reader.value()
            case "--latch": options.latch = try reader.value()
            case "--plant": options.plant = try reader.choice(DrillOptions.Plant.self)
            case "--resume": options.ledger = try reader.value()
            case "--jobs": options.jobs = try reader.number(in: 1...maximumJobs)
            case "--down": options.downMilliseconds = try reader.number(in: 0...maximumDownMilliseconds)
            default: throw reader.unknown
            }
        }
        if let to = options.to, to < options.from {
            throw DrillOptions.UsageError(message: "option `--to` must not be smaller than `--from`")
        }
        return .run(options)
    }

    static func part(_ text: String) throws(DrillOptions.UsageError) -> Part {
        let numbers = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.count == 2, let index = numbers[0], let of = numbers[1], of >= 1, (1...of).contains(index) else {
            throw DrillOptions.UsageError(
                message: "option `--part` must be K/OF with K from 1 to OF, as 3/10, not `\(text)`")
        }
        return Part(index: index, of: of)
    }

    /// The points, given how many calls each role makes.
    func points(_ counts: [Role: Int]) -> [CallPoint] {
        roles.flatMap { role in
            let last = to ?? counts[role] ?? 0
            guard last >= from else { return [CallPoint]() }
            return stride(from: from + part.index - 1, through: last, by: part.of).map { point(role, $0) }
        }
    }

    func point(_ role: Role, _ number: Int) -> CallPoint {
        CallPoint(role: role, side: side, number: number, downMilliseconds: downMilliseconds)
    }

    static let help = """
        Usage: latch-lab drill syscalls [OPTIONS]

        Lets a lock and a key of `latch` live one short life over a radio of this program's: they begin, an unlock is asked
        for and carried out, the relock falls due, they end. Kills one of them with SIGKILL at its first system call, in the
        next life at its second, and so on to its last. Starts it again each time, and checks from outside that every promise
        holds. Beforehand it counts the calls.

        Options:
          --role ROLE     Only the lock or only the key is killed: \(names(Role.self)). Both by default.
          --from N        The first call; 1 by default.
          --to M          The last call; by default the last that a whole life makes.
          --part K/OF     Every OFth call, beginning with the Kth: 3/10 is a tenth of them.
          --at SIDE       Before the call is carried out or behind it: \(names(CallTrace.Side.self)). Entry by default.
          --down MS       How long the killed one stays dead. By default not at all; where an opening was on the air and not yet
                          made, in one life not at all and in another \(CallPoint.pastDeadlineMilliseconds) ms.
          --count         Only count the calls, by their names.
          --seed S        Of the radio; a fresh one by default, which is printed.
          --jobs J        Households at the same time; four for each core by default, since a case mostly waits.
          --resume FILE   Keep a ledger of the calls that are done in FILE, and leave out those that it has.
          --json          One JSON object on standard output, for programs.
          --report DIR    Write a page of HTML, result.json and junit.xml there.
          --latch PATH    The `latch` to drill; the one beside this program by default.
          --plant FAULT   Break the product on purpose, which must be found: \(names(DrillOptions.Plant.self)).
                          Only in a build, of both programs, made with `swift build -Xswiftc -DLATCH_PLANTS`.

        Exit status: 0 when every promise held, 1 when not, 2 when the command line is wrong, 4 when the drill could not
        be run.

        """

    private static func names<Value: CaseIterable & RawRepresentable>(_: Value.Type) -> String
    where Value.RawValue == String {
        Value.allCases.map(\.rawValue).joined(separator: ", ")
    }
}
