import BluetoothHost
import Glibc
import StatePersistence

/// How long an app's world stands still behind a kill: from exec of an app on Core Bluetooth that had a scan, pending connections and
/// many peripherals that it had met, until its controller has answered that it scans and that it connects. The answers are read off the
/// wire, where a ``LearnedController`` gives them; the app says by its clock when it was called first.
struct RestoredBenchmark {
    private let runs: Int
    private let pending: Int
    private let cached: Int
    private let acceptListSize: UInt8?
    private let isJSON: Bool
    private let app: String
    private let lab: String

    init(_ options: Options) throws {
        runs = try options.integer("runs", default: 41)
        pending = try options.integer("pending", default: 100)
        cached = try options.integer("cached", default: 500)
        guard pending < cached else { throw BenchmarkError("--pending takes a number below --cached's") }
        acceptListSize = try options.text("accept-list").map { text in
            guard let size = UInt8(text), size > 0 else { throw BenchmarkError("--accept-list takes 1 to 255") }
            return size
        }
        isJSON = try options.choice("format", ["text", "json"]) == "json"
        app = try options.text("app") ?? Executable.directory() + "/ReturningApp"
        lab = try options.text("lab") ?? Executable.directory() + "/latch-lab"
        for (option, program) in [("app", app), ("lab", lab)] where access(program, X_OK) != 0 {
            throw BenchmarkError(system: "\(program) (build it, or name it by --\(option))")
        }
    }

    func run() throws {
        let scratch = try TemporaryDirectory("return")
        let air = scratch.path + "/air"
        let radio = try Child(
            [lab, "radio", "--socket", air, "--control", scratch.path + "/control", "--air", "immediate"])
        defer { radio.end() }
        try UnixSocket.await(air)
        let state = scratch.path + "/state"
        setenv("LATCH_STATE", state, 1)
        try meet(air, scratch.path)
        let controller = try LearnedController(air: air, acceptListSize: acceptListSize)
        // The controller learns, and the first life's log is looked through as it is inherited.
        var lives = [try live(scratch.path, controller)]
        lives.removeAll()
        var floor: [Double] = []
        for _ in 0..<runs {
            let begin = Clock.milliseconds
            guard try Child([app, "--version"]).wait() == 0 else { throw BenchmarkError("\(app) --version failed") }
            floor.append(Clock.milliseconds - begin)
            lives.append(try live(scratch.path, controller))
        }
        try check(state)
        report(floor, lives)
    }

    /// The app's first life, killed when it waits.
    private func meet(_ air: String, _ directory: String) throws {
        setenv("LATCH_TRANSPORT", "unix:" + air, 1)
        let crowd = try Child(
            [try Executable.path(), "crowd", "unix:" + air, String(cached)], output: directory + "/crowd.log")
        defer { crowd.end() }
        let lines = try LineReader(directory + "/met")
        let first = try Child([app, "meet", String(cached), String(pending)], output: lines.path)
        defer { first.end() }
        try lines.await("waiting", milliseconds: 120_000)
    }

    private func live(_ directory: String, _ controller: LearnedController) throws -> Life {
        let life = try ReturnedApp(app, in: directory, on: controller)
        let expected = ReturnedApp.Restored(peripherals: pending, named: pending, known: pending, isScanning: true)
        guard life.restored == expected, let scanning = life.scanning, let connecting = life.connecting,
            let called = life.called, let processor = life.processor
        else {
            throw BenchmarkError("restored is not what was left: \(life.restored.map { "\($0)" } ?? "nothing")")
        }
        return Life(
            scanning: scanning, connecting: connecting, called: called, processor: processor,
            commands: life.commandCount)
    }

    /// That all that the app has met is kept.
    private func check(_ directory: String) throws {
        let state = try StateStore(
            path: directory + "/bluetooth.sqlite", machineKeyFile: directory + "/machine.key",
            credentialsDirectory: nil, components: [.host])
        let kept = try SQLiteHostStore(state, name: "app").load()
        let whole = kept.peers.filter { $0.name != nil && $0.remoteDatabase != nil }
        guard whole.count == cached else {
            throw BenchmarkError("of \(cached) peripherals \(whole.count) are kept with name and attributes")
        }
    }

    /// Milliseconds of one life, from exec.
    private struct Life {
        var scanning: Double
        var connecting: Double
        var called: Double
        var processor: Double
        var commands: Int

        var isAtWork: Double { max(scanning, connecting) }
    }

    private func report(_ floor: [Double], _ lives: [Life]) {
        let figures: [(name: String, title: String, sample: Sample)] = [
            ("floor", "exec to exit of `ReturningApp --version`", Sample(floor)),
            ("scanning", "exec to scanning", Sample(lives.map(\.scanning))),
            ("connecting", "exec to connecting", Sample(lives.map(\.connecting))),
            ("at_work", "exec to both", Sample(lives.map(\.isAtWork))),
            ("processor", "of that on a processor, all threads", Sample(lives.map(\.processor))),
            ("called", "exec to the first callback", Sample(lives.map(\.called))),
            ("above_floor", "both above the floor before it", Sample(zip(lives, floor).map { $0.isAtWork - $1 })),
        ]
        // Callbacks wait for so long, and that begins behind the exec: on a machine that is slower, one that comes later is not early.
        let patience = Double(RestoredCallbacks.waitMaximumMilliseconds)
        let early = lives.filter { $0.called < min($0.isAtWork, patience) }.count
        let commands = lives.map(\.commands).max() ?? 0
        if isJSON {
            let rows = figures.map { "\"\($0.name)\":{\($0.sample.members)}" }
            print(
                "{\"pending\":\(pending),\"cached\":\(cached),\"runs\":\(runs),\"unit\":\"ms\","
                    + "\(rows.joined(separator: ",")),\"commands\":\(commands),\"called_early\":\(early)}")
            return
        }
        print("\(pending) pending connections, \(cached) peripherals, a scan; \(runs) runs")
        for figure in figures { print(figure.title.padded(to: 48) + figure.sample.row) }
        print("commands until then".padded(to: 48) + "\(commands)")
        print("lives whose app was called before that".padded(to: 48) + "\(early)")
    }
}
