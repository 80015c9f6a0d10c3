import Glibc

/// One table of what exchanges between two processes cost on a radio: bare ACL packets first, which are the floor, then
/// the host's own API, then Apple's on top of it. Floor and hosts take turns, so that a neighbour's load hits both.
struct TableBenchmark {
    /// Who drives the two controllers.
    enum Level: String, CaseIterable { case bare, host, corebluetooth }

    private let programs: Programs
    private let radios: [Radio.Kind]
    private let rounds: Int
    /// nil: what says most of each radio.
    private let placement: Placement?
    private let isJSON: Bool

    init(_ options: Options) throws {
        rounds = try options.integer("rounds", default: 7)
        let isPlaced = options.text("radio-cpu") != nil || options.text("host-cpu") != nil
        placement =
            isPlaced
            ? Placement(
                radioCPU: try options.integer("radio-cpu", default: 0, from: 0),
                hostCPU: try options.integer("host-cpu", default: 0, from: 0)) : nil
        isJSON = try options.choice("format", ["text", "json"]) == "json"
        radios =
            switch try options.choice("radio", ["both"] + Radio.Kind.allCases.map(\.rawValue)) {
            case "both": Radio.Kind.allCases
            case let name: Radio.Kind.allCases.filter { $0.rawValue == name }
            }
        let directory = try Executable.directory()
        programs = try Programs(
            lab: options.text("lab") ?? directory + "/latch-lab", cache: options.text("cache") ?? ".build/interop")
    }

    func run() throws {
        var rows: [TableRow] = []
        for radio in radios {
            for placement in placements(of: radio) {
                let setting = Setting(radio: radio, placement: placement)
                var measured: [TableRow] = []
                for _ in 0..<rounds { try round(setting, into: &measured) }
                for _ in 0..<rounds { try bonding(setting, into: &measured) }
                rows += measured
            }
        }
        let machine = Machine()
        print(isJSON ? TableText.json(rows, machine, rounds: rounds) : TableText.table(rows, machine, rounds: rounds))
    }

    /// Together on one CPU, which hides nothing of what a host costs; and, as a controller is a processor of its own, the
    /// virtual one on a CPU of its own.
    private func placements(of radio: Radio.Kind) -> [Placement] {
        if let placement { return [placement] }
        let together = Placement(radioCPU: 0, hostCPU: 0)
        guard radio == .virtual, sysconf(Int32(_SC_NPROCESSORS_ONLN)) > 1 else { return [together] }
        return [together, Placement(radioCPU: 0, hostCPU: 1)]
    }

    /// Each round has a radio of its own, which starts empty.
    private func round(_ setting: Setting, into rows: inout [TableRow]) throws {
        let radio = try Radio(setting.radio, cpu: setting.placement.radioCPU, programs: programs)
        let cpu = setting.placement.hostCPU
        for level in [Level.host, .corebluetooth] {
            let (floor, _) = try programs.exchange(.bare, on: radio, ["read=2000"], cpu: cpu)
            let (figures, _) = try programs.exchange(
                level, on: radio, ["read=2000", "write=2000", "command=4096", "notification=8192"], cpu: cpu)
            for figure in floor { add(figure, floor: figure, .bare, setting, &rows) }
            for figure in figures { add(figure, floor: floor[0], level, setting, &rows) }
        }
    }

    /// Links made for these figures are many, and RootCanal's identifiers few: each radio serves one such series.
    private func bonding(_ setting: Setting, into rows: inout [TableRow]) throws {
        let radio = try Radio(setting.radio, cpu: setting.placement.radioCPU, programs: programs)
        let (figures, _) = try programs.exchange(
            .host, on: radio, client: "bonding", ["10"], cpu: setting.placement.hostCPU)
        for figure in figures { add(figure, floor: figure, .host, setting, &rows) }
    }

    private func add(_ figure: Figure, floor: Figure, _ level: Level, _ setting: Setting, _ rows: inout [TableRow]) {
        let place = rows.firstIndex { $0.level == level && $0.operation == figure.name } ?? rows.count
        if place == rows.count { rows.append(TableRow(setting: setting, level: level, operation: figure.name)) }
        rows[place].add(figure, floor: floor)
    }
}

/// Which CPUs the three processes are pinned to.
struct Placement {
    let radioCPU: Int
    let hostCPU: Int
}

/// What a series is taken on.
struct Setting {
    let radio: Radio.Kind
    let placement: Placement

    /// For people: the radio, and its CPU where it has one of its own.
    var name: String {
        placement.radioCPU == placement.hostCPU ? radio.rawValue : "\(radio.rawValue), apart"
    }
}

/// One line of the table: what every round gave.
struct TableRow {
    let setting: Setting
    let level: TableBenchmark.Level
    let operation: String
    private(set) var p50: [Double] = []
    private(set) var p99: [Double] = []
    private(set) var perSecond: [Double] = []
    /// The p50 beside the floor's of the same round.
    private(set) var ratio: [Double] = []

    init(setting: Setting, level: TableBenchmark.Level, operation: String) {
        self.setting = setting
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
