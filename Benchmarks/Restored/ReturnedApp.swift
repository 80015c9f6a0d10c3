import CLinux
import Glibc

/// A life of the app on a ``LearnedController``, from its exec until it scans, connects and has been called. Ended with SIGKILL when it
/// is let go.
final class ReturnedApp {
    /// What was restored, in the app's words.
    struct Restored: Equatable {
        var peripherals: Int
        var named: Int
        var known: Int
        var isScanning: Bool
    }

    private let child: Child
    private let host: Int32
    private let lines: LineReader
    private let begin: Double
    private var commands = HCIPackets()

    // Milliseconds from exec.
    private(set) var scanning: Double?
    private(set) var connecting: Double?
    private(set) var called: Double?
    private(set) var restored: Restored?
    /// What all its threads have had of a processor when it does both.
    private(set) var processor: Double?
    /// How many the controller has answered by then.
    private(set) var commandCount = 0

    private static let patienceMilliseconds: Int32 = 60_000

    init(_ app: String, in directory: String, on controller: LearnedController) throws {
        let relay = directory + "/relay"
        let listener = try UnixSocket.listen(relay)
        defer { close(listener) }
        setenv("LATCH_TRANSPORT", "unix:" + relay, 1)
        lines = try LineReader(directory + "/said")
        begin = Clock.milliseconds
        child = try Child([app], output: lines.path)
        var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, Self.patienceMilliseconds) > 0 else {
            throw BenchmarkError("the app has not opened its controller")
        }
        host = accept(listener, nil, nil)
        guard host >= 0 else { throw BenchmarkError(system: relay) }
        try serve(controller)
    }

    deinit {
        child.end()
        close(host)
    }

    private var isComplete: Bool { processor != nil && restored != nil }

    private func serve(_ controller: LearnedController) throws {
        var ends = [
            pollfd(fd: host, events: Int16(POLLIN), revents: 0),
            pollfd(fd: lines.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while !isComplete {
            guard poll(&ends, 2, Self.patienceMilliseconds) > 0 else {
                throw BenchmarkError("the app does not scan and connect, or was not called: \(lines.said)")
            }
            if ends[0].revents != 0 {
                guard let packets = commands.read(host) else {
                    throw BenchmarkError("the app has closed its controller: \(lines.said)")
                }
                for command in packets where command[0] == 0x01 { try answer(command, controller) }
            }
            if ends[1].revents != 0 {
                for line in lines.read() { hear(line) }
            }
        }
    }

    private func answer(_ command: [UInt8], _ controller: LearnedController) throws {
        let answer = try controller.answer(to: command)
        guard write(host, answer, answer.count) == answer.count else { throw BenchmarkError("the app is gone") }
        guard processor == nil else { return }
        commandCount += 1
        guard LearnedController.isSuccess(answer) else { return }
        let now = Clock.milliseconds - begin
        switch UInt16(command[1]) | UInt16(command[2]) << 8 {
        // LE Set Scan Enable and LE Set Extended Scan Enable.
        case 0x200C, 0x2042: if command[4] == 1 { scanning = scanning ?? now }
        // LE Create Connection and LE Extended Create Connection.
        case 0x200D, 0x2043: connecting = connecting ?? now
        default: break
        }
        if scanning != nil, connecting != nil { processor = try child.processorMillisecondsOfThreads() }
    }

    private func hear(_ line: String) {
        let words = line.split(separator: " ")
        switch words.first {
        case "called": called = words.last.flatMap { Double($0) }.map { $0 / 1e6 - begin }
        case "restored":
            let numbers = words.compactMap { Int($0) }
            guard numbers.count == 3 else { return }
            restored = Restored(
                peripherals: numbers[0], named: numbers[1], known: numbers[2], isScanning: words.last == "scanning")
        default: break
        }
    }
}

/// What a child says, line by line as it says it, over a FIFO.
final class LineReader {
    let path: String
    let descriptor: Int32
    private var rest = ""
    private(set) var said = ""

    init(_ path: String) throws {
        self.path = path
        unlink(path)
        guard mkfifo(path, 0o600) == 0 else { throw BenchmarkError(system: path) }
        // A child that opens the other end finds this one there.
        descriptor = latch_open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw BenchmarkError(system: path) }
    }

    deinit { close(descriptor) }

    /// The lines that have become whole.
    func read() -> [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return [] }
        let text = String(decoding: buffer[..<count], as: UTF8.self)
        said += text
        rest += text
        var lines = rest.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        rest = lines.removeLast()
        return lines
    }

    /// Until a line is said.
    func await(_ line: String, milliseconds: Int32) throws {
        var end = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&end, 1, milliseconds) > 0 {
            if read().contains(line) { return }
        }
        throw BenchmarkError("nobody has said \"\(line)\": \(said)")
    }
}
