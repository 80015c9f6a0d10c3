import BluetoothCore

/// What the drills of cases are asked for alike: which points of whose life, how many at a time, and where to tell of it.
struct CaseOptions: Equatable, Sendable {
    /// Which share of the points: every `of`th, beginning with the `index`th.
    struct Part: Equatable, Sendable {
        var index = 1
        var of = 1
    }

    static let maximumJobs = 256
    static let maximumNumber = 60_000
    private static let jobsPerCore = 4

    var roles = Role.allCases
    var from = 1
    /// nil: as many as a whole life has.
    var to: Int?
    var part = Part()
    /// nil: a fresh one.
    var seed: UInt64?
    var isJSON = false
    var report: String?
    var latch: String?
    var plant: DrillOptions.Plant?
    /// nil: as many as suit the machine.
    var jobs: Int?

    /// Takes the option that the reader is at; false when it is none of these.
    mutating func take(_ name: String, from reader: inout OptionReader) throws(DrillOptions.UsageError) -> Bool {
        switch name {
        case "--json": try reader.flag { isJSON = true }
        case "--role": roles = [try reader.choice(Role.self)]
        case "--from": from = try reader.number(in: 1...Self.maximumNumber)
        case "--to": to = try reader.number(in: 1...Self.maximumNumber)
        case "--part": part = try Self.part(reader.value())
        case "--seed": seed = try reader.number(in: 0...UInt64.max)
        case "--report": report = try reader.value()
        case "--latch": latch = try reader.value()
        case "--plant": plant = try reader.choice(DrillOptions.Plant.self)
        case "--jobs": jobs = try reader.number(in: 1...Self.maximumJobs)
        default: return false
        }
        return true
    }

    /// Whether they fit each other, once all are read.
    func check() throws(DrillOptions.UsageError) {
        guard let to, to < from else { return }
        throw DrillOptions.UsageError(message: "option `--to` must not be smaller than `--from`")
    }

    private static func part(_ text: String) throws(DrillOptions.UsageError) -> Part {
        let numbers = text.split(separator: "/", omittingEmptySubsequences: false).map { Int(digits: $0) }
        guard numbers.count == 2, let index = numbers[0], let of = numbers[1], of >= 1, (1...of).contains(index) else {
            throw DrillOptions.UsageError(
                message: "option `--part` must be K/OF with K from 1 to OF, as 3/10, not `\(text)`")
        }
        return Part(index: index, of: of)
    }

    /// How many households live at the same time.
    var households: Int { jobs ?? Threads.cores * Self.jobsPerCore }

    // MARK: Help

    static let jobsHelp = """
          --jobs J        Households at the same time; four for each core by default, since a case mostly waits.
        """

    /// The last options, and the exit status.
    static let endOfHelp = """
          --json          One JSON object on standard output, for programs.
          --report DIR    Write a page of HTML, result.json and junit.xml there.
          --latch PATH    The `latch` to drill; the one beside this program by default.
          --plant FAULT   Break the product on purpose, which must be found: \(names(DrillOptions.Plant.self)).
                          Only in a build, of both programs, made with `swift build -Xswiftc -DLATCH_PLANTS`.

        Exit status: 0 when every promise held, 1 when not, 2 when the command line is wrong, 4 when the drill could not
        be run.

        """

    static func names<Value: CaseIterable & RawRepresentable>(_: Value.Type) -> String
    where Value.RawValue == String {
        Value.allCases.map(\.rawValue).joined(separator: ", ")
    }
}
