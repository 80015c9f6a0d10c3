import BluetoothCore
import CLinux
import CommandInterface
import DaemonControl
import Glibc
import HCITransport

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
        let process: pid_t
        /// Readable at its end; -1 where the system gives none, and the timer looks.
        let descriptor: Int32
        var registration: EventLoop.Registration?
        var isKilled = false
    }

    private let path: String
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
            kill(-run.process, SIGKILL)
            if run.descriptor >= 0 { close(run.descriptor) }
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
            do throws(SpawnFailure) {
                try start(JSONValue.object(alarm).text + "\n", loop)
            } catch {
                notice(.failed(reason: "it cannot be started: \(String(cString: strerror(error.number)))"))
            }
        }
    }

    private struct SpawnFailure: Error { let number: Int32 }

    private func start(_ line: String, _ loop: EventLoop) throws(SpawnFailure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SpawnFailure(number: errno) }
        defer { for end in ends { close(end) } }
        // A line is shorter than any pipe: it is in there before anybody reads.
        let octets = Array(line.utf8)
        guard latch_fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0, write(ends[1], octets, octets.count) == octets.count
        else {
            throw SpawnFailure(number: errno)
        }
        let variables = Self.environment.map { strdup($0) } + [nil]
        defer { for variable in variables { free(variable) } }
        var process: pid_t = 0
        let failure = latch_spawn_alone(&process, path, variables, ends[0])
        guard failure == 0 else { throw SpawnFailure(number: failure) }
        var run = Run(process: process, descriptor: latch_pidfd_open(process))
        if run.descriptor >= 0 {
            run.registration = try? loop.register(run.descriptor, .readable) { [weak self] _ in self?.look() }
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
        guard let run, run.process == late else { return }
        kill(-run.process, SIGKILL)
        self.run?.isKilled = true
        arm(Self.secondLookMilliseconds)
    }

    /// Whether it has ended; then the next one begins.
    private func look() {
        guard let ended = run else { return }
        var information = siginfo_t()
        // Its number stays its own, and its group's, until what is left of the group has ended too.
        let isKnown = waitid(P_PID, id_t(ended.process), &information, WEXITED | WNOHANG | WNOWAIT) == 0
        guard !isKnown || information.si_signo != 0 else { return }
        if isKnown { kill(-ended.process, SIGKILL) }
        var status: Int32 = 0
        waitpid(ended.process, &status, 0)
        if let registration = ended.registration { loop?.unregister(registration) }
        if ended.descriptor >= 0 { close(ended.descriptor) }
        _ = latch_timerfd_set(timer, 0)
        run = nil
        if let reason = reason(status, isKilled: ended.isKilled) { notice(.failed(reason: reason)) }
        begin()
    }

    private func reason(_ status: Int32, isKilled: Bool) -> String? {
        if isKilled { return "it did not end in \(timeoutMilliseconds) ms, and was killed" }
        let signal = status & 0x7F
        if signal != 0 { return "it was ended by signal \(signal)" }
        let code = status >> 8 & 0xFF
        return code == 0 ? nil : "it ended with status \(code)"
    }
}

extension AlarmHook {
    /// What is wrong with this path wherever it is read; nil for nothing.
    static func fault(_ path: String) -> String? {
        path.hasPrefix("/") ? nil : "write the program's whole path, from / on"
    }

    /// At a start: the program is there, and nobody but root and the daemon's user can put another in its place.
    static func requireUsable(_ path: String, configuration: String) throws(Failure) {
        func refuse(_ problem: String, _ remedy: String) -> Failure {
            Failure(.configuration, "key `hook` in section [alarms] of \(configuration): \(path) \(problem): \(remedy)")
        }
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw refuse("cannot be found: \(String(cString: strerror(errno)))", "install it, or name another program")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw refuse("is no file", "name a program") }
        guard access(path, X_OK) == 0 else { throw refuse("may not be executed", "`chmod a+x` it") }
        guard status.st_uid == 0 || status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw refuse(
                "can be changed by other users, who would get the lock's keys",
                "give it to root, and `chmod go-w` it")
        }
    }
}
