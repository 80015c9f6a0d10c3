import CLinux
import Glibc
import LockProtocol
import SecurityManager

/// What a signed command costs beside the flush that it waits for: from the write of its packet to the line that stands for the
/// bolt's movement, and to the receipt's packet. In turn with a bare flush of one page in the same directory, and with a process
/// that does nothing else for a packet, behind pauses of the same length. This process is the controller, so that nothing but the
/// daemon lies between. The same with a strike whose keeper is a process beside the lock: to the strike's release.
struct CommandBenchmark {
    private let commands: Int
    private let pauseMilliseconds: Int
    private let keys: Int
    private let waves: Int
    private let programs: LockPrograms
    private let isJSON: Bool

    init(_ options: Options) throws {
        commands = try options.integer("commands", default: 500)
        pauseMilliseconds = try options.integer("pause-ms", default: 10, from: 0)
        keys = try options.integer("keys", default: 64, from: 2)
        waves = try options.integer("waves", default: 20)
        isJSON = try options.choice("format", ["text", "json"]) == "json"
        programs = try LockPrograms(options)
    }

    /// The bolt has arrived, and its arrival is on disk, before the next pause ends.
    private var configuration: String {
        "[lock]\nrelock_seconds = 0\nlinks = \(keys)\n\n[bolt]\ntravel_ms = 1\n"
    }

    /// A lock whose strike `latch-lab door` keeps, and the file to which that writes whatever its line does.
    private func strikeLock(_ directory: String) throws -> (door: Child, enrolled: EnrolledLock, metal: String) {
        guard mkdir(directory, 0o700) == 0 else { throw BenchmarkError(system: directory) }
        let (socket, metal) = (directory + "/strike.sock", directory + "/metal")
        let door = try Child(
            [programs.lab, "door", "--socket", socket, "--drive", "hold", "--travel-ms", "0"], output: metal)
        // A lock looks for its keeper again and again; it need not listen yet.
        while access(socket, F_OK) != 0 {
            guard !door.hasEnded else { throw BenchmarkError("`latch-lab door` ended at once") }
            usleep(1000)
        }
        let configuration = "[lock]\nrelock_seconds = 0\n\n[bolt]\nactuator = \"gpio\"\nkeeper = \"\(socket)\"\n"
        return (door, try EnrolledLock(directory, programs, enrolments: 1, configuration: configuration), metal)
    }

    func run() throws {
        let scratch = try TemporaryDirectory("command")
        let enrolled = try EnrolledLock(scratch.path, programs, enrolments: keys + 1, configuration: configuration)
        let lock = try RelayedLock(enrolled.place)
        let flush = try BareFlush(scratch.path + "/pages")
        let peer = try FlushPeer.Client(in: scratch.path)
        let strike = try strikeLock(scratch.path + "/strike")
        defer { withExtendedLifetime(strike) {} }
        let strikeLock = try RelayedLock(strike.enrolled.place)
        var strikeKey = try KeysOnLinks(strikeLock, [strike.enrolled.link(0)], bolt: strike.metal)
        var figures = (
            flushes: [Double](), woken: [Double](), alone: [CommandTimes](), strike: [CommandTimes](),
            together: [Double]()
        )
        var key = try KeysOnLinks(lock, [enrolled.link(0)], bolt: enrolled.boltJournal)
        for number in 0..<commands {
            if number > 0, number.isMultiple(of: CommandTimes.ofLinkMaximum) {
                try key.reconnect()
                try strikeKey.reconnect()
            }
            pause()
            figures.flushes.append(try flush.milliseconds())
            pause()
            figures.woken.append(try peer.milliseconds())
            pause()
            figures.alone.append(try CommandTimes(number, &key, lock))
            pause()
            figures.strike.append(try CommandTimes(number, &strikeKey, strikeLock))
        }
        if !commands.isMultiple(of: 2) { _ = try CommandTimes(commands, &key, lock) }
        try key.disconnect()
        var crowd = try KeysOnLinks(lock, (1...keys).map { enrolled.link($0, connection: UInt16($0)) })
        for _ in 0..<waves {
            pause()
            figures.together.append(try Self.commands(&crowd, lock, of: keys))
        }
        let rows = [
            Row("flush", "a bare flush", figures.flushes),
            Row("woken_flush", "a packet, a bare flush, a packet", figures.woken),
            Row("actuator", "signed write to the bolt's order", figures.alone.map(\.actuator)),
            Row("receipt", "signed write to its receipt", figures.alone.map(\.receipt)),
            Row("strike", "signed write to the strike's release", figures.strike.map(\.actuator)),
            Row("outcome", "signed write to the outcome's receipt", figures.alone.map(\.outcome)),
            Row("crowd", "\(keys) signed writes to the last receipt", figures.together),
        ]
        print(isJSON ? json(rows) : text(rows))
    }

    private func pause() { usleep(UInt32(pauseMilliseconds) * 1000) }

    /// Milliseconds until the last of them has its receipt. All of them lock what is locked: a bolt that moves would be busy for all
    /// but the first.
    private static func commands(_ keys: inout KeysOnLinks, _ lock: RelayedLock, of count: Int) throws -> Double {
        let packets = try (0..<count).flatMap { try keys.command(.lock, at: $0) }
        let begin = Clock.milliseconds
        try lock.send(packets)
        var waiting = Set(0..<count)
        var last = begin
        while !waiting.isEmpty {
            let (heard, at) = try keys.hear()
            for case .word(let place, .receipt) in heard where waiting.remove(place) != nil { last = at }
        }
        try keys.awaitChallenges()
        return last - begin
    }

    // MARK: Words

    private struct Row {
        let name: String
        let title: String
        let sample: Sample

        init(_ name: String, _ title: String, _ values: [Double]) {
            self.name = name
            self.title = title
            sample = Sample(values, digits: 3)
        }

        func ratio(to floor: Row, _ percent: Int) -> String {
            Sample.text(sample.percentile(percent) / floor.sample.percentile(percent), digits: 2)
        }
    }

    private func text(_ rows: [Row]) -> String {
        let head = "\(commands) commands, \(pauseMilliseconds) ms between them; \(waves) times \(keys) keys at once"
        let lines = rows.map { $0.title.padded(to: 42) + $0.sample.row }
        let ratios = rows.dropFirst(2).map { row in
            "\(row.title), to a bare flush".padded(to: 60)
                + "p50 \(row.ratio(to: rows[0], 50))  p99 \(row.ratio(to: rows[0], 99))"
                + ";  to a woken one p50 \(row.ratio(to: rows[1], 50))"
        }
        return ([head] + lines + ratios).joined(separator: "\n")
    }

    private func json(_ rows: [Row]) -> String {
        let fields = rows.map { row in
            "\"\(row.name)\":{\(row.sample.members),\"to_flush_p50\":\(row.ratio(to: rows[0], 50)),"
                + "\"to_flush_p99\":\(row.ratio(to: rows[0], 99)),\"to_woken_flush_p50\":\(row.ratio(to: rows[1], 50))}"
        }
        return "{\"commands\":\(commands),\"pause_ms\":\(pauseMilliseconds),\"keys\":\(keys),\"unit\":\"ms\","
            + fields.joined(separator: ",") + "}"
    }
}
