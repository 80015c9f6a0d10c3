import BluetoothCore
import CLinux
import CommandInterface
import Glibc
import HCITransport
import LockPeripheral

/// A program of the operator's that reads one line: one process at a time, and the daemon's loop waits for none of them.
///
/// It has the daemon's user and nothing else of the daemon: no descriptor, no signal mask, no environment, no capability to
/// pass on. A process that does not end in its time is killed; what it has left behind ends with it.
final class LineProgram {
    /// Behind a kill that the kernel has yet to carry out.
    private static let secondLookMilliseconds: UInt64 = 100
    private static let environment = ["PATH=/usr/bin:/bin", "LC_ALL=C"]

    private struct Run {
        let process: LoneProcess
        var registration: EventLoop.Registration?
        var isKilled = false
    }

    private let timeoutMilliseconds: UInt64
    private let loop: EventLoop
    private let timer: Int32
    private var timerRegistration: EventLoop.Registration?
    private var run: Run?
    /// A process has ended: nil with status 0, else why not, for people. The next one may be started from here on.
    var ended: (String?) -> Void = { _ in }

    /// - Throws: What to do, where the kernel gives no timer. `name`: what it is to people.
    init(name: String, timeoutMilliseconds: UInt64, loop: EventLoop) throws {
        self.timeoutMilliseconds = timeoutMilliseconds
        self.loop = loop
        // Whoever started the daemon may have ignored it, and then no process is waited for.
        signal(SIGCHLD, SIG_DFL)
        timer = latch_timerfd_create()
        guard timer >= 0 else {
            throw Failure(.state, "\(name) has no timer: \(String(cString: strerror(errno))): raise LimitNOFILE=")
        }
        timerRegistration = try loop.register(timer, .readable) { [weak self] _ in self?.timerFired() }
    }

    deinit {
        if let run {
            if let registration = run.registration { loop.unregister(registration) }
            run.process.kill()
        }
        if let timerRegistration { loop.unregister(timerRegistration) }
        if timer >= 0 { close(timer) }
    }

    var isRunning: Bool { run != nil }

    /// Only while no process runs. Why it cannot be started; nil where it runs, and ``ended`` will be called.
    func start(_ path: String, _ line: String) -> String? {
        do throws(LoneProcess.Failure) {
            try begin(path, line)
            return nil
        } catch {
            return "it cannot be started: \(String(cString: strerror(error.number)))"
        }
    }

    private func begin(_ path: String, _ line: String) throws(LoneProcess.Failure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw LoneProcess.Failure(number: errno) }
        defer { for end in ends { close(end) } }
        // A line is shorter than any pipe: it is in there before anybody reads.
        let octets = Array((line + "\n").utf8)
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

    /// Whether it has ended.
    private func look() {
        guard let over = run, let status = over.process.end() else { return }
        if let registration = over.registration { loop.unregister(registration) }
        _ = latch_timerfd_set(timer, 0)
        run = nil
        ended(reason(CommandEnd(waitStatus: status), isKilled: over.isKilled))
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
