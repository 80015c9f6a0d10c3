import Glibc
import LockProtocol

/// What a lock of a large house takes beside one of ten users: both run in turn, in one run, on one disk.
struct ScaleBenchmark {
    private let users: Int
    private let history: AuditHistory
    private let commands: Int
    private let runs: Int
    private let programs: LockPrograms
    private let isJSON: Bool

    private static let fewUsers = 10
    private static let pauseMilliseconds: UInt32 = 10
    /// A lock ends the link of a central that stays.
    private static let stayMilliseconds = 1_500.0
    /// The bolt has arrived, and its arrival is on disk, before the next pause ends.
    private static let configuration = "[lock]\nrelock_seconds = 0\n\n[bolt]\ntravel_ms = 1\n"

    init(_ options: Options) throws {
        users = try options.integer("users", default: 10_000)
        history = AuditHistory(
            records: try options.integer("records", default: 1_000_000),
            forgotten: try options.integer("forgotten", default: 50_000, from: 0))
        commands = try options.integer("commands", default: 200)
        runs = try options.integer("runs", default: 7)
        isJSON = try options.choice("format", ["text", "json"]) == "json"
        programs = try LockPrograms(options)
    }

    func run() throws {
        let scratch = try TemporaryDirectory("scale")
        func lock(_ name: String, _ enrolments: Enrolments) throws -> EnrolledLock {
            let directory = scratch.path + "/" + name
            guard mkdir(directory, 0o700) == 0 else { throw BenchmarkError(system: directory) }
            return try EnrolledLock(directory, programs, enrolments, configuration: Self.configuration)
        }
        let begin = Clock.milliseconds
        let few = try lock("few", Enrolments(count: Self.fewUsers, isScheduled: true))
        let many = try lock("many", Enrolments(count: users, isScheduled: true, history: history))
        var report = ScaleReport(users: users, history: history, made: Clock.milliseconds - begin)
        let flush = try BareFlush(scratch.path + "/pages")
        try commits(scratch.path, flush, &report)
        try launches(few, many, &report)
        try visits(few, many, flush, &report)
        try lists(many, &report)
        try audit(many, &report)
        print(isJSON ? report.json : report.text)
    }

    // MARK: Commits

    private func commits(_ directory: String, _ flush: BareFlush, _ report: inout ScaleReport) throws {
        let signed = try SignedCommits(directory + "/signed", isSigned: true)
        let bare = try SignedCommits(directory + "/bare", isSigned: false)
        var times = (flush: [Double](), signed: [Double](), bare: [Double](), signature: [Double]())
        for _ in 0..<commands * 2 {
            usleep(Self.pauseMilliseconds * 1000 / 4)
            times.flush.append(try flush.milliseconds())
            times.signed.append(try signed.milliseconds())
            times.bare.append(try bare.milliseconds())
            times.signature.append(signed.signatureMilliseconds())
        }
        report.add("commit_flush", "a bare flush", times.flush)
        report.add("commit_bare", "a record's commit that nobody signs", times.bare)
        report.add("commit_signed", "a record's commit, signed", times.signed)
        report.add("signature", "one Ed25519 signature", times.signature)
    }

    // MARK: Launches

    private struct Launch {
        var advertising = 0.0
        var processor = 0.0
        var command = 0.0
        var users = 0.0
    }

    private func launches(_ few: EnrolledLock, _ many: EnrolledLock, _ report: inout ScaleReport) throws {
        var launches = (few: [Launch](), many: [Launch]())
        for run in 0..<runs {
            launches.few.append(try launch(few, run))
            launches.many.append(try launch(many, run))
        }
        func add(_ name: String, _ title: String, _ value: (Launch) -> Double) {
            report.add(name, title, few: launches.few.map(value), many: launches.many.map(value))
        }
        add("advertising", "exec to advertising enabled", \.advertising)
        add("processor", "of that on a processor", \.processor)
        add("first_command", "link to the first command's receipt", \.command)
        add("first_users", "the first page of users right behind that", \.users)
    }

    private func launch(_ enrolled: EnrolledLock, _ run: Int) throws -> Launch {
        let lock = try RelayedLock(enrolled.place)
        var launch = Launch(
            advertising: lock.advertisingMilliseconds, processor: try lock.daemon.processorMilliseconds())
        var link = enrolled.link(0)
        link.counter = UInt32(run + 1)
        let begin = Clock.milliseconds
        var key = try KeysOnLinks(lock, [link])
        try lock.send(try key.command(.lock))
        launch.command = try key.receipt() - begin
        var list = try OperatorList(enrolled.place.state, .users)
        _ = try list.page()
        launch.users = list.milliseconds[0]
        return launch
    }

    // MARK: Commands

    private func visits(
        _ few: EnrolledLock, _ many: EnrolledLock, _ flush: BareFlush, _ report: inout ScaleReport
    ) throws {
        let locks = try (few: RelayedLock(few.place), many: RelayedLock(many.place))
        // Those that follow the launch while what it left is read; and those behind that.
        for (name, words) in [("early", ", right behind a launch"), ("settled", "")] {
            if name == "settled" {
                try locks.few.daemon.settle()
                try locks.many.daemon.settle()
            }
            // Nobody has spoken on these links before.
            let place = name == "early" ? 1 : 2
            var keys = try (
                few: KeysOnLinks(locks.few, [few.link(place)], bolt: few.boltJournal),
                many: KeysOnLinks(locks.many, [many.link(place)], bolt: many.boltJournal)
            )
            var times = (flush: [Double](), few: [CommandTimes](), many: [CommandTimes]())
            var connected = Clock.milliseconds
            for number in 0..<commands {
                if Clock.milliseconds - connected > Self.stayMilliseconds {
                    try keys.few.reconnect()
                    try keys.many.reconnect()
                    connected = Clock.milliseconds
                }
                usleep(Self.pauseMilliseconds * 1000)
                times.flush.append(try flush.milliseconds())
                usleep(Self.pauseMilliseconds * 1000)
                times.few.append(try CommandTimes(number, &keys.few, locks.few))
                usleep(Self.pauseMilliseconds * 1000)
                times.many.append(try CommandTimes(number, &keys.many, locks.many))
            }
            try keys.few.disconnect()
            try keys.many.disconnect()
            if name == "settled" { report.add("flush", "a bare flush", times.flush) }
            report.add(
                name + "_actuator", "signed write to the bolt's order" + words, few: times.few.map(\.actuator),
                many: times.many.map(\.actuator))
            report.add(
                name + "_receipt", "signed write to its receipt" + words, few: times.few.map(\.receipt),
                many: times.many.map(\.receipt))
        }
        report.add(
            "resident", "resident when it has settled", kilobytes: try locks.few.daemon.residentKilobytes(),
            try locks.many.daemon.residentKilobytes())
    }

    // MARK: Lists

    private func lists(_ many: EnrolledLock, _ report: inout ScaleReport) throws {
        let lock = try RelayedLock(many.place)
        try lock.daemon.settle()
        for kind in OperatorList.Kind.allCases {
            var list = try OperatorList(many.place.state, kind)
            while try list.page() {}
            report.add(list)
        }
        for words in [["users"], ["bonds"], ["status"], ["schedule", "show", "--credential", "user 0"]] {
            let command = [programs.latch, "peripheral"] + words + ["--state", many.place.state]
            report.add(
                "latch peripheral " + words.prefix { !$0.hasPrefix("-") }.joined(separator: " "),
                try MeasuredCommand(command, in: many.place.directory))
        }
        withExtendedLifetime(lock) {}
    }

    private func audit(_ many: EnrolledLock, _ report: inout ScaleReport) throws {
        let target = many.place.directory + "/export"
        let commands = [
            ["verify"], ["list"], ["list", "--limit", "0"], ["list", "--credential", "user 0"],
            ["export", "--to", target], ["export", "--format", "csv", "--to", target],
        ]
        for words in commands {
            unlink(target)
            let command = [programs.latch, "audit"] + words + ["--state", many.place.state]
            let name = words.map { $0 == target ? "FILE" : $0 }.joined(separator: " ")
            report.add("latch audit " + name, try MeasuredCommand(command, in: many.place.directory))
        }
        unlink(target)
    }
}
