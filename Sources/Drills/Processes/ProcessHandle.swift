import CLinux
import Glibc

/// A process that this drill started, known by its id until it has been waited for.
final class ProcessHandle {
    enum End: Equatable {
        case exited(Int32)
        case killed(Int32)
    }

    let process: pid_t
    let startedAt: UInt64
    /// Of the process, for as long as this lives; -1 where the system has none.
    let descriptor: Int32
    private let isTraced: Bool
    private(set) var end: End?

    /// Standard error is appended to the file `log`, and standard output to `output`, or to the same file. With `trace` the direct
    /// child is the tracer, which ends as the program ends. `environment` is all that the program has; nil: this process's own.
    init(
        _ arguments: [String], log: String, output: String? = nil, environment: [String: String]? = nil,
        input: [UInt8]? = nil, trace: CallTrace? = nil
    ) throws {
        let error = try Self.open(log)
        defer { close(error) }
        let out = try Self.open(output ?? log)
        defer { close(out) }
        let source = try Self.source(input)
        defer { close(source) }
        let words = Self.strings(arguments)
        defer { words.forEach { free($0) } }
        let variables = environment.map { Self.strings($0.map { "\($0)=\($1)" }) }
        defer { variables?.forEach { free($0) } }
        startedAt = Clock.now
        isTraced = trace != nil
        process =
            if let variables {
                trace?.spawn(words, variables, source, out, error)
                    ?? latch_spawn(words, variables, source, out, error)
            } else {
                trace?.spawn(words, nil, source, out, error) ?? latch_spawn(words, nil, source, out, error)
            }
        guard process > 0 else { throw DrillError.system("cannot start \(arguments.first ?? "")") }
        descriptor = latch_pidfd_open(process)
    }

    /// With the standard input, output and error of this process.
    init(passing arguments: [String]) throws {
        let words = Self.strings(arguments)
        defer { words.forEach { free($0) } }
        startedAt = Clock.now
        isTraced = false
        process = latch_spawn(words, nil, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO)
        guard process > 0 else { throw DrillError.system("cannot start \(arguments.first ?? "")") }
        descriptor = latch_pidfd_open(process)
    }

    deinit {
        kill()
        if descriptor >= 0 { close(descriptor) }
    }

    private static func open(_ file: String) throws -> Int32 {
        let descriptor = latch_open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DrillError.system("cannot write \(file)") }
        return descriptor
    }

    /// As an exec takes them.
    private static func strings(_ words: [String]) -> [UnsafeMutablePointer<CChar>?] {
        words.map { strdup($0) } + [nil]
    }

    /// What is to be read on standard input, all of it in the pipe already.
    private static func source(_ input: [UInt8]?) throws -> Int32 {
        guard let input else { return latch_open("/dev/null", O_RDONLY | O_CLOEXEC, 0) }
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw DrillError.system("cannot make a pipe") }
        _ = write(ends[1], input, input.count)
        close(ends[1])
        return ends[0]
    }

    /// Whether it has ended by now.
    var hasEnded: Bool {
        guard end == nil else { return true }
        var status: Int32 = 0
        guard waitpid(process, &status, WNOHANG) == process else { return false }
        record(status)
        return true
    }

    /// Waits for its end; nil when it goes on.
    func wait(_ waiter: Waiter, until deadline: UInt64) throws -> End? {
        while !hasEnded {
            guard Clock.now < deadline else { return nil }
            let step = descriptor >= 0 ? deadline : min(deadline, Clock.now + Clock.milliseconds(2))
            try waiter.wait(descriptor, POLLIN, until: step)
        }
        return end
    }

    /// SIGKILL, and its end. Only ever this process, and only while its id is still its own.
    func kill() {
        guard !hasEnded else { return }
        // A tracer kills its program first, so that both have ended when it has.
        Glibc.kill(process, isTraced ? SIGUSR1 : SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
        record(status)
    }

    func terminate() {
        guard !hasEnded else { return }
        Glibc.kill(process, SIGTERM)
    }

    private func record(_ status: Int32) {
        let signal = status & 0x7F
        end = signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal)
    }
}
