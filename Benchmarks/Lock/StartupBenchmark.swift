import BluetoothCore
import CLinux
import DaemonControl
import Glibc
import LockProtocol

/// How long an owner waits in the rain after a kill: from exec of the lock's daemon until its controller has answered
/// LE Set Advertising Enable. A relay between daemon and radio reads the answer off the wire, so the figure has the relay's
/// own cost in it.
struct StartupBenchmark {
    private let enrolments: Int
    private let runs: Int
    private let programs: LockPrograms
    private let isJSON: Bool

    init(_ options: Options) throws {
        enrolments = try options.integer("enrolments", default: 1000)
        runs = try options.integer("runs", default: 41)
        isJSON = try options.choice("format", ["text", "json"]) == "json"
        programs = try LockPrograms(options)
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
        let enrolled = try EnrolledLock(scratch.path, programs, enrolments: enrolments)
        let (place, bonds, handles) = (enrolled.place, enrolled.bonds, enrolled.handles)
        var floor: [Double] = []
        var launches: [Launch] = []
        var privateLaunches: [Launch] = []
        for run in 0..<runs {
            let begin = Clock.milliseconds
            _ = try Child([programs.latch, "--version"]).wait()
            floor.append(Clock.milliseconds - begin)
            for isPrivate in [false, true] {
                guard let bond = bonds.randomElement() else { throw BenchmarkError("nobody is enrolled") }
                let link = SignedLink(
                    bond: bond, counter: UInt32(run * 2 + (isPrivate ? 2 : 1)), handles: handles, isPrivate: isPrivate)
                let launch = try launch(place, link: link)
                if isPrivate { privateLaunches.append(launch) } else { launches.append(launch) }
            }
        }
        var pages: [Double] = []
        var settled = 0
        let look = { (daemon: Child) in
            pages = try Self.statusPages(place.state)
            settled = try Self.settledKilobytes(daemon)
        }
        // With every key's context made, as the first private address wants them.
        let link = SignedLink(bond: bonds[0], counter: UInt32(runs * 2 + 1), handles: handles, isPrivate: true)
        _ = try launch(place, link: link, then: look)
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
            let rows = figures.map { "\"\($0.name)\":{\($0.sample.members)}" }
            print(
                "{\"enrolments\":\(enrolments),\"runs\":\(runs),\"unit\":\"ms\","
                    + "\(rows.joined(separator: ",")),\"resident_kilobytes\":\(resident),"
                    + "\"settled_kilobytes\":\(settled),\"advertising_to_floor\":\(ratio)}")
            return
        }
        print("\(enrolments) enrolments, \(runs) runs")
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

    /// A launch until the controller has answered that it advertises, and the first command on `link` behind that; the daemon
    /// is killed then.
    private func launch(
        _ place: RelayedLock.Place, link: SignedLink? = nil, then look: (Child) throws -> Void = { _ in }
    ) throws -> Launch {
        let lock = try RelayedLock(place)
        var launch = Launch(advertising: lock.advertisingMilliseconds)
        launch.processor = try lock.daemon.processorMilliseconds()
        launch.kilobytes = try lock.daemon.residentKilobytes()
        if let link {
            let begin = Clock.milliseconds
            var key = try KeysOnLinks(lock, [link])
            try lock.send(try key.command(.lock))
            launch.command = try key.receipt() - begin
            launch.accepted = Clock.milliseconds - lock.begin
        }
        try look(lock.daemon)
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
}
