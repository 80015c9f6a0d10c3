import BluetoothCore
import CLinux
import DaemonControl
import Glibc

/// How long an owner waits in the rain after a kill: from exec of the lock's daemon until its controller has answered
/// LE Set Advertising Enable. A relay between daemon and radio reads the answer off the wire, so the figure has the relay's
/// own cost in it.
struct StartupBenchmark {
    private let enrolments: Enrolments
    private let runs: Int
    private let latch: String
    private let lab: String
    private let isJSON: Bool

    init(_ options: Options) throws {
        enrolments = Enrolments(count: try options.integer("enrolments", default: 1000))
        runs = try options.integer("runs", default: 41)
        isJSON = try options.choice("format", ["text", "json"]) == "json"
        latch = try options.text("latch") ?? Executable.directory() + "/latch"
        lab = try options.text("lab") ?? Executable.directory() + "/latch-lab"
        for (option, program) in [("latch", latch), ("lab", lab)] where access(program, X_OK) != 0 {
            throw BenchmarkError(system: "\(program) (build it, or name it by --\(option))")
        }
    }

    /// One launch.
    private struct Launch {
        var advertising = 0.0
        var processor = 0.0
        var kilobytes = 0
        /// From the link to the receipt, and from exec to the receipt.
        var command = 0.0
        var accepted = 0.0
    }

    func run() throws {
        let scratch = try TemporaryDirectory("startup")
        let directory = scratch.path

        let state = directory + "/lock"
        let air = directory + "/air"
        let radio = try Child([lab, "radio", "--socket", air, "--control", directory + "/control"])
        defer { radio.end() }
        try UnixSocket.await(air)

        guard mkdir(state, 0o700) == 0 else { throw BenchmarkError(system: state) }
        // The first launch makes the identity and the tables that the enrolments belong to.
        _ = try launch(air: air, directory: directory, state: state)
        let (bonds, handles) = try enrolments.fill(state)
        // The next one inherits the log that all of that went through.
        _ = try launch(air: air, directory: directory, state: state)
        var floor: [Double] = []
        var launches: [Launch] = []
        var privateLaunches: [Launch] = []
        for run in 0..<runs {
            let begin = Clock.milliseconds
            _ = try Child([latch, "--version"]).wait()
            floor.append(Clock.milliseconds - begin)
            for isPrivate in [false, true] {
                guard let bond = bonds.randomElement() else { throw BenchmarkError("nobody is enrolled") }
                let launch = try launch(
                    air: air, directory: directory, state: state,
                    command: { host in
                        SignedCommand(
                            bond: bond, counter: UInt32(run * 2 + (isPrivate ? 2 : 1)), handles: handles,
                            isPrivate: isPrivate, host: host)
                    })
                if isPrivate { privateLaunches.append(launch) } else { launches.append(launch) }
            }
        }
        var pages: [Double] = []
        var settled = 0
        let look = { (daemon: Child) in
            pages = try Self.statusPages(state)
            settled = try Self.settledKilobytes(daemon)
        }
        // With every key's context made, as the first private address wants them.
        _ = try launch(
            air: air, directory: directory, state: state,
            command: { host in
                SignedCommand(
                    bond: bonds[0], counter: UInt32(runs * 2 + 1), handles: handles, isPrivate: true, host: host)
            }, then: look)
        let both = launches + privateLaunches
        report(
            [
                Figure("floor", "exec to exit of `latch --version`", floor),
                Figure("advertising", "exec to advertising enabled", both.map(\.advertising)),
                Figure("processor", "of that on a processor", both.map(\.processor)),
                Figure("command", "link to first signed command accepted", launches.map(\.command)),
                Figure("private_command", "the same from a private address", privateLaunches.map(\.command)),
                Figure("accepted", "exec to first signed command accepted", launches.map(\.accepted)),
                Figure("status_page", "each of \(pages.count) pages of its status", pages),
            ], resident: both.map(\.kilobytes).max() ?? 0, settled: settled)
    }

    private struct Figure {
        let name: String
        let title: String
        let sample: Sample

        init(_ name: String, _ title: String, _ values: [Double]) {
            self.name = name
            self.title = title
            sample = Sample(values)
        }
    }

    private func report(_ figures: [Figure], resident: Int, settled: Int) {
        let ratio = Sample.text(figures[1].sample.percentile(50) / figures[0].sample.percentile(50), digits: 2)
        if isJSON {
            let rows = figures.map { figure in
                let values = [("min", 0), ("p50", 50), ("p99", 99)].map {
                    "\"\($0.0)\":\(Sample.text(figure.sample.percentile($0.1), digits: 3))"
                }
                return "\"\(figure.name)\":{\(values.joined(separator: ","))}"
            }
            print(
                "{\"enrolments\":\(enrolments.count),\"runs\":\(runs),\"unit\":\"ms\","
                    + "\(rows.joined(separator: ",")),\"resident_kilobytes\":\(resident),"
                    + "\"settled_kilobytes\":\(settled),\"advertising_to_floor\":\(ratio)}")
            return
        }
        print("\(enrolments.count) enrolments, \(runs) runs")
        for figure in figures { print(figure.title.padded(to: 48) + figure.sample.row) }
        print("resident when it advertises".padded(to: 48) + "\(resident) kB")
        print("resident when it has read everything".padded(to: 48) + "\(settled) kB")
        print("advertising to floor, medians".padded(to: 48) + ratio)
    }

    /// Once the daemon has had no processor for a while.
    private static func settledKilobytes(_ daemon: Child) throws -> Int {
        var before = -1.0
        while case let now = try daemon.processorMilliseconds(), now - before > 0.5 {
            before = now
            usleep(300_000)
        }
        return try daemon.residentKilobytes()
    }

    /// A launch until the controller has answered that it advertises, and the command that `command` makes behind that; the
    /// daemon is killed then.
    private func launch(
        air: String, directory: String, state: String, command: ((Int32) -> SignedCommand)? = nil,
        then look: (Child) throws -> Void = { _ in }
    ) throws -> Launch {
        let relay = directory + "/relay"
        let listener = try UnixSocket.listen(relay)
        defer { close(listener) }
        let begin = Clock.milliseconds
        let daemon = try Child(
            [
                latch, "peripheral", "run", "--transport", "unix:" + relay, "--state", state, "--journal",
                directory + "/journal",
            ], output: directory + "/log")
        defer { daemon.end() }
        var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, Self.patienceMilliseconds) > 0 else { throw Self.silent(directory) }
        let host = accept(listener, nil, nil)
        guard host >= 0, let controller = try UnixSocket.connect(air) else { throw BenchmarkError(system: relay) }
        defer {
            close(host)
            close(controller)
        }
        try relayUntilAdvertising(host, controller, directory)
        var launch = Launch(advertising: Clock.milliseconds - begin)
        launch.processor = try daemon.processorMilliseconds()
        launch.kilobytes = try daemon.residentKilobytes()
        if let command {
            launch.command = try command(host).run { packet in
                guard write(controller, packet, packet.count) == packet.count else { throw Self.silent(directory) }
            }
            launch.accepted = Clock.milliseconds - begin
        }
        try look(daemon)
        return launch
    }

    /// Milliseconds of each page, asked for one after the other.
    private static func statusPages(_ state: String) throws -> [Double] {
        var client = try ControlClient(connectingTo: state + "/peripheral.sock")
        var times: [Double] = []
        var page = PeripheralRequest.StatusPage()
        repeat {
            let deadline = Instant(nanoseconds: latch_boottime_nanoseconds()).advanced(byMilliseconds: 10_000)
            let begin = Clock.milliseconds
            let answer = try client.ask(PeripheralRequest.statusPage(page), deadline: deadline)
            times.append(Clock.milliseconds - begin)
            page.after = answer["next"]?.string
        } while page.after != nil
        return times
    }

    private static let patienceMilliseconds: Int32 = 10_000

    private static func silent(_ directory: String) -> BenchmarkError {
        let log = try? String(decoding: contents(directory + "/log"), as: UTF8.self)
        return BenchmarkError("the daemon does not advertise: \(log ?? "")")
    }

    /// Command Complete, with success, of LE Set Advertising Enable or of LE Set Extended Advertising Enable.
    private static func isAdvertisingAnswered(_ octets: some Collection<UInt8>) -> Bool {
        let event = Array(octets.suffix(7))
        guard event.starts(with: [0x04, 0x0E, 0x04]) else { return false }
        return event.suffix(3) == [0x0A, 0x20, 0x00] || event.suffix(3) == [0x39, 0x20, 0x00]
    }

    private func relayUntilAdvertising(_ host: Int32, _ controller: Int32, _ directory: String) throws {
        var ends = [
            pollfd(fd: host, events: Int16(POLLIN), revents: 0),
            pollfd(fd: controller, events: Int16(POLLIN), revents: 0),
        ]
        var answers: [UInt8] = []
        while poll(&ends, 2, Self.patienceMilliseconds) > 0 {
            for (from, to) in [(0, controller), (1, host)] where ends[from].revents != 0 {
                var buffer = [UInt8](repeating: 0, count: 4096)
                let count = read(ends[from].fd, &buffer, buffer.count)
                guard count > 0, write(to, buffer, count) == count else { throw Self.silent(directory) }
                guard from == 1 else { continue }
                answers.append(contentsOf: buffer[..<count])
                if Self.isAdvertisingAnswered(answers) { return }
            }
        }
        throw Self.silent(directory)
    }
}

extension String {
    fileprivate func padded(to count: Int) -> String {
        self + String(repeating: " ", count: max(0, count - self.count))
    }
}
