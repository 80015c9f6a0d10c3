import Foundation
import Glibc
import TestSupport
import Testing

/// A daemon of the test's, ended with it.
final class Daemon {
    private let process: ChildProcess

    init(_ arguments: [String], of program: String = Program.path, environment: [String: String] = [:]) throws {
        process = try ChildProcess(
            [program] + arguments, environment: Program.environment.merging(environment) { _, given in given },
            output: .unheard)
    }

    deinit { kill() }

    var pid: pid_t { process.pid }
    var isRunning: Bool { process.isRunning }

    func kill() {
        process.signal(SIGKILL)
        process.wait()
    }

    /// How it ends when it has met `signal`.
    func crash(by signal: Int32) -> ChildProcess.End {
        process.signal(signal)
        return process.wait()
    }

    /// A daemon that has not ended by then does not: its test fails, and the others run.
    private static let patience = Duration.seconds(120)

    /// Its status after SIGTERM, or by itself; that of SIGKILL when it does not end.
    func end(signalling: Bool = true) -> Int32 {
        if signalling { process.signal(SIGTERM) }
        let end = ContinuousClock.now + Self.patience
        while process.isRunning, ContinuousClock.now < end { usleep(2_000) }
        process.signal(SIGKILL)
        return process.wait().code
    }

    var complaint: String { String(decoding: process.errors.readDataToEndOfFile(), as: UTF8.self) }
}

/// Has system calls of a running daemon fail for as long as this is there.
final class FailingCalls {
    private let tracer: ChildProcess

    /// `injection`: the call, and what becomes of it, in strace's words. `path`: only where it is about this file.
    init(_ injection: String, of daemon: Daemon, at path: String? = nil) throws {
        let call = injection.prefix { $0 != ":" }
        tracer = try ChildProcess(
            ["/usr/bin/strace", "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(injection)"]
                + (path.map { ["-P", $0] } ?? []) + ["-p", "\(daemon.pid)"], environment: Program.environment)
        var said = ""
        while !said.contains("attached\n"), !said.contains("threads\n") {
            let octets = tracer.errors.availableData
            try #require(!octets.isEmpty, "strace: \(said)")
            said += String(decoding: octets, as: UTF8.self)
        }
    }

    deinit {
        tracer.signal(SIGTERM)
        tracer.wait()
    }
}

/// Until `condition` holds; processes are waited for, and nothing else. Who is not through by then on any machine has stopped.
func waits(_ condition: () throws -> Bool) rethrows -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while try !condition() {
        guard ContinuousClock.now < end else { return false }
        usleep(10_000)
    }
    return true
}

/// A radio and room for daemons beside it.
final class Bench {
    let directory: TemporaryDirectory
    private var radio: Daemon?

    init(withRadio: Bool = true) throws {
        directory = try TemporaryDirectory()
        for name in ["lock", "key"] { try makeRoom(name) }
        if withRadio { try plug() }
    }

    /// For one daemon more.
    func makeRoom(_ name: String) throws {
        try FileManager.default.createDirectory(
            atPath: path(name), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    /// There are controllers.
    func plug() throws {
        unlink(path("air"))
        radio = try Daemon(
            ["radio", "--socket", path("air"), "--control", path("air.control"), "--air", "immediate"],
            of: Program.lab)
        #expect(waits { FileManager.default.fileExists(atPath: path("air")) })
    }

    /// A socket in the controllers' place, for a test that is the controller.
    func listen() throws -> Int32 {
        try makeListener(at: path("air"))
    }

    /// Says a line to the radio, and waits until it is done.
    func air(_ line: String) throws {
        let answer = try radioAnswer(to: line, at: path("air.control"))
        try #require(answer.hasPrefix("ok"), "\(line): \(answer)")
    }

    /// Every controller is gone.
    func unplug() { radio = nil }

    /// The roles of the lock's credentials.
    func roles() throws -> [String] {
        let text = try latch("peripheral", "status", "lock").output
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            return words.first == "role:" ? words.last.map(String.init) : nil
        }
    }

    /// Where a name is, if not in the bench's own directory: on a disk of the test's.
    var places: [String: String] = [:]

    func path(_ name: String) -> String { places[name] ?? directory.path + "/" + name }

    /// A script of the shell's that a daemon may execute.
    func script(_ text: String, to name: String) throws -> String {
        let path = path(name)
        try ChildProcess.writeScript(text, to: path)
        return path
    }

    func arguments(
        _ role: String, _ state: String, transport: String? = nil, logLevel: String = "error"
    ) -> [String] {
        [
            role, "run", "--transport", transport ?? "unix:" + path("air"), "--state", path(state), "--log-level",
            logLevel,
        ]
    }

    func start(_ role: String, _ state: String, _ more: [String] = []) throws -> Daemon {
        let daemon = try Daemon(arguments(role, state) + more)
        #expect(try waits { try latch(role, "status", state).output.contains("radio: on") })
        return daemon
    }

    /// The words of a command to what runs on a state directory. An order for a bolt waits for its answer, however slow the machine, unless
    /// `more` says for how long: it does where nobody answers.
    func words(_ role: String, _ command: String, _ state: String, _ more: [String] = []) -> [String] {
        let isOrder = ["lock", "unlock"].contains(command) && !more.contains("--wait")
        return [role, command, "--state", path(state)] + more + (isOrder ? ["--wait", "600"] : [])
    }

    func latch(_ role: String, _ command: String, _ state: String, _ more: [String] = [], input: String = "") throws
        -> Program.Outcome
    {
        try Program.run(words(role, command, state, more), input: input)
    }

    /// Runs a command that has to end well; what it says instead is the test's failure.
    func succeed(
        _ role: String, _ command: String, _ state: String, _ more: [String] = [], input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let outcome = try latch(role, command, state, more, input: input)
        #expect(outcome.status == 0, "\(role) \(command): \(outcome)", sourceLocation: sourceLocation)
    }

    /// Enrols the key at the lock under this name.
    func enroll(
        _ credential: String, role: String = "resident", at lock: String = "lock", by key: String = "key",
        _ more: [String] = []
    ) throws {
        // A window that went with its operator has to have closed.
        #expect(try waits { try !latch("peripheral", "status", lock).output.contains("enrolling") })
        let window = try Window(["--state", path(lock), "--credential", credential, "--role", role] + more)
        try succeed("central", "enroll", key, ["-"], input: try window.code())
        #expect(window.end() == 0)
    }
}

/// An operator who holds an enrolment window open.
final class Window {
    private let process: ChildProcess

    init(_ arguments: [String]) throws {
        process = try ChildProcess(
            [Program.path, "peripheral", "enroll"] + arguments, environment: Program.environment, errors: .unheard)
    }

    /// What it has printed, up to the setup code.
    private(set) var heard = ""

    /// The setup code, as soon as it is printed.
    func code() throws -> String {
        while !heard.contains("setup code: ") || !heard.hasSuffix("\n") {
            let more = process.output.availableData
            try #require(!more.isEmpty)
            heard += String(decoding: more, as: UTF8.self)
        }
        return String(try #require(heard.split(separator: "\n").compactMap { $0.split(separator: " ").last }.last))
    }

    /// Goes away.
    func leave() {
        process.signal(SIGKILL)
        process.wait()
    }

    func end() -> Int32 { process.wait().code }

    /// What it prints from here to its end.
    func rest() -> String { String(decoding: process.output.readDataToEndOfFile(), as: UTF8.self) }
}
