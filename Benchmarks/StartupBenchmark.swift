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

    init(_ options: Options) throws {
        enrolments = Enrolments(count: try options.integer("enrolments", default: 1000))
        runs = try options.integer("runs", default: 41)
        latch = try options.text("latch") ?? Executable.directory() + "/latch"
        lab = try options.text("lab") ?? Executable.directory() + "/latch-lab"
        for (option, program) in [("latch", latch), ("lab", lab)] where access(program, X_OK) != 0 {
            throw BenchmarkError(system: "\(program) (build it, or name it by --\(option))")
        }
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
        try enrolments.fill(state)
        var floor: [Double] = []
        var times: [Double] = []
        var processor: [Double] = []
        var pages: [Double] = []
        var residentKilobytes = 0
        for _ in 0..<runs {
            let begin = Clock.milliseconds
            _ = try Child([latch, "--version"]).wait()
            floor.append(Clock.milliseconds - begin)
            times.append(
                try launch(air: air, directory: directory, state: state) {
                    processor.append(try $0.processorMilliseconds())
                    residentKilobytes = try $0.residentKilobytes()
                    pages = try Self.statusPages(state)
                })
        }
        print("exec to exit of `latch --version`               \(Sample(floor).row)")
        print("exec to advertising enabled, \(enrolments.count) enrolments    \(Sample(times).row)")
        print("of that on a processor                          \(Sample(processor).row)")
        print("resident, when it advertises                    \(residentKilobytes) kB")
        print("each of \(pages.count) pages of its status               \(Sample(pages).row)")
        let ratio = Sample(times).percentile(50) / Sample(floor).percentile(50)
        print("ratio of the medians                            \(Sample.text(ratio, digits: 2))")
    }

    /// Milliseconds from exec until the controller has answered that it advertises; the daemon is killed then.
    private func launch(
        air: String, directory: String, state: String, then look: (Child) throws -> Void = { _ in }
    ) throws -> Double {
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
        let spent = Clock.milliseconds - begin
        try look(daemon)
        return spent
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
