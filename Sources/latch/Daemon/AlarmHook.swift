import BluetoothCore
import CLinux
import CommandInterface
import DaemonControl
import Glibc
import HCITransport
import LockPeripheral

/// The program that the configuration names for alarms: each is one JSON line on its standard input, one process at a time, and the
/// daemon's loop waits for none of them.
///
/// It has the daemon's user and nothing else of the daemon: no descriptor, no signal mask, no environment, no capability to
/// pass on. A process that does not end in its time is killed; what it has left behind ends with it.
final class AlarmHook {
    static let timeoutMilliseconds: UInt64 = 10_000
    /// Behind a kill that the kernel has yet to carry out.
    private static let secondLookMilliseconds: UInt64 = 100
    private static let environment = ["PATH=/usr/bin:/bin", "LC_ALL=C"]

    /// What the operator is told of it.
    enum Notice: Equatable {
        case failed(reason: String)
        /// Alarms become one line from here on.
        case full
    }

    private struct Run {
        let process: LoneProcess
        var registration: EventLoop.Registration?
        var isKilled = false
    }

    /// Of the next process.
    var path: String
    private let timeoutMilliseconds: UInt64
    private let notice: (Notice) -> Void
    private var queue = AlarmQueue()
    private var run: Run?
    private var loop: EventLoop?
    /// -1 until there is a loop.
    private var timer: Int32 = -1
    private var timerRegistration: EventLoop.Registration?

    /// Keeps what comes until ``serve(on:)``.
    init(
        path: String, timeoutMilliseconds: UInt64 = AlarmHook.timeoutMilliseconds, notice: @escaping (Notice) -> Void
    ) {
        self.path = path
        self.timeoutMilliseconds = timeoutMilliseconds
        self.notice = notice
    }

    deinit {
        if let run {
            if let registration = run.registration { loop?.unregister(registration) }
            run.process.kill()
        }
        if let timerRegistration { loop?.unregister(timerRegistration) }
        if timer >= 0 { close(timer) }
    }

    /// - Throws: What to do, where the kernel gives no timer.
    func serve(on loop: EventLoop) throws {
        // Whoever started the daemon may have ignored it, and then no process is waited for.
        signal(SIGCHLD, SIG_DFL)
        timer = latch_timerfd_create()
        guard timer >= 0 else {
            throw Failure(
                .state, "the alarms' hook has no timer: \(String(cString: strerror(errno))): raise LimitNOFILE=")
        }
        timerRegistration = try loop.register(timer, .readable) { [weak self] _ in self?.timerFired() }
        self.loop = loop
        begin()
    }

    func put(_ alarm: JSONObject) {
        if !queue.put(alarm) { notice(.full) }
        begin()
    }

    private func begin() {
        while let loop, run == nil, let alarm = queue.next() {
            do throws(LoneProcess.Failure) {
                try start(JSONValue.object(alarm).text + "\n", loop)
            } catch {
                notice(.failed(reason: "it cannot be started: \(String(cString: strerror(error.number)))"))
            }
        }
    }

    private func start(_ line: String, _ loop: EventLoop) throws(LoneProcess.Failure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw LoneProcess.Failure(number: errno) }
        defer { for end in ends { close(end) } }
        // A line is shorter than any pipe: it is in there before anybody reads.
        let octets = Array(line.utf8)
        guard latch_fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0, write(ends[1], octets, octets.count) == octets.count
        else {
            throw LoneProcess.Failure(number: errno)
        }
        let process = try LoneProcess([path], environment: Self.environment, input: ends[0])
        var run = Run(process: process)
        // Without a descriptor of its end the timer looks.
        if process.descriptor >= 0 {
            run.registration = try? loop.register(process.descriptor, .readable) { [weak self] _ in self?.look() }
        }
        self.run = run
        arm(timeoutMilliseconds)
    }

    private func arm(_ milliseconds: UInt64) {
        let due = SystemClock.now().advanced(byMilliseconds: milliseconds)
        _ = latch_timerfd_set(timer, max(1, due.nanoseconds))
    }

    private func timerFired() {
        var expirations: UInt64 = 0
        guard read(timer, &expirations, MemoryLayout<UInt64>.size) > 0 else { return }
        let late = run?.process
        look()
        // The next one has its own time.
        guard let run, run.process === late else { return }
        run.process.kill()
        self.run?.isKilled = true
        arm(Self.secondLookMilliseconds)
    }

    /// Whether it has ended; then the next one begins.
    private func look() {
        guard let ended = run, let status = ended.process.end() else { return }
        if let registration = ended.registration { loop?.unregister(registration) }
        _ = latch_timerfd_set(timer, 0)
        run = nil
        if let reason = reason(CommandEnd(waitStatus: status), isKilled: ended.isKilled) {
            notice(.failed(reason: reason))
        }
        begin()
    }

    private func reason(_ end: CommandEnd, isKilled: Bool) -> String? {
        if isKilled { return "it did not end in \(timeoutMilliseconds) ms, and was killed" }
        return switch end {
        case .exited(0): nil
        case .exited(let status): "it ended with status \(status)"
        case .signalled(let signal): "it was ended by signal \(signal)"
        }
    }
}
