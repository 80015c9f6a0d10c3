import Glibc

/// One table of what exchanges between two processes cost on a radio: bare ACL packets first, which are the floor, then
/// the host's own API, then Apple's on top of it. Floor and hosts take turns, so that a neighbour's load hits both.
struct TableBenchmark {
    /// Who drives the two controllers.
    enum Level: String, CaseIterable { case bare, host, corebluetooth }

    private let programs: Programs
    private let radios: [Radio.Kind]
    private let rounds: Int
    private let radioCPU: Int
    private let hostCPU: Int
    private let isJSON: Bool

    init(_ options: Options) throws {
        rounds = try options.integer("rounds", default: 7)
        radioCPU = try options.integer("radio-cpu", default: 0, from: 0)
        hostCPU = try options.integer("host-cpu", default: 0, from: 0)
        isJSON = try options.choice("format", ["text", "json"]) == "json"
        radios =
            switch try options.choice("radio", ["both"] + Radio.Kind.allCases.map(\.rawValue)) {
            case "both": Radio.Kind.allCases
            case let name: Radio.Kind.allCases.filter { $0.rawValue == name }
            }
        let directory = try Executable.directory()
        programs = try Programs(
            latch: options.text("latch") ?? directory + "/latch", cache: options.text("cache") ?? ".build/interop")
    }

    func run() throws {
        var rows: [TableRow] = []
        for radio in radios {
            var measured: [TableRow] = []
            for _ in 0..<rounds { try round(radio, into: &measured) }
            for _ in 0..<rounds { try bonding(radio, into: &measured) }
            rows += measured
        }
        let machine = Machine(radioCPU: radioCPU, hostCPU: hostCPU)
        print(isJSON ? TableText.json(rows, machine, rounds: rounds) : TableText.table(rows, machine, rounds: rounds))
    }

    /// Each round has a radio of its own, which starts empty.
    private func round(_ kind: Radio.Kind, into rows: inout [TableRow]) throws {
        let radio = try Radio(kind, cpu: radioCPU, programs: programs)
        for level in [Level.host, .corebluetooth] {
            let floor = try exchange(.bare, on: radio, ["read=2000"])
            let figures = try exchange(
                level, on: radio, ["read=2000", "write=2000", "command=4096", "notification=8192"])
            for figure in floor { add(figure, floor: figure, .bare, kind, &rows) }
            for figure in figures { add(figure, floor: floor[0], level, kind, &rows) }
        }
    }

    /// Links made for these figures are many, and RootCanal's identifiers few: each radio serves one such series.
    private func bonding(_ kind: Radio.Kind, into rows: inout [TableRow]) throws {
        let radio = try Radio(kind, cpu: radioCPU, programs: programs)
        let (figures, _) = try programs.exchange(.host, on: radio, client: "bonding", ["10"], cpu: hostCPU)
        for figure in figures { add(figure, floor: figure, .host, kind, &rows) }
    }

    private func add(_ figure: Figure, floor: Figure, _ level: Level, _ radio: Radio.Kind, _ rows: inout [TableRow]) {
        let place =
            rows.firstIndex { $0.radio == radio && $0.level == level && $0.operation == figure.name } ?? rows.count
        if place == rows.count { rows.append(TableRow(radio: radio, level: level, operation: figure.name)) }
        rows[place].add(figure, floor: floor)
    }

    /// Runs a server and a client on `radio`; the client's figures.
    private func exchange(_ level: Level, on radio: Radio, _ steps: [String]) throws -> [Figure] {
        try programs.exchange(level, on: radio, steps, cpu: hostCPU).figures
    }
}

/// One line of the table: what every round gave.
struct TableRow {
    let radio: Radio.Kind
    let level: TableBenchmark.Level
    let operation: String
    private(set) var p50: [Double] = []
    private(set) var p99: [Double] = []
    private(set) var perSecond: [Double] = []
    /// The p50 beside the floor's of the same round.
    private(set) var ratio: [Double] = []

    init(radio: Radio.Kind, level: TableBenchmark.Level, operation: String) {
        self.radio = radio
        self.level = level
        self.operation = operation
    }

    mutating func add(_ figure: Figure, floor: Figure) {
        p50.append(figure.p50)
        p99.append(figure.p99)
        perSecond.append(figure.perSecond)
        ratio.append(figure.p50 / floor.p50)
    }

    /// Whether the p50 says what one operation costs; what nobody answers has a rate only.
    var hasLatency: Bool { operation != "command" && operation != "notification" }
    /// Whether bare packets there and back are its floor.
    var hasFloor: Bool { operation == "read" || operation == "write" }
}
