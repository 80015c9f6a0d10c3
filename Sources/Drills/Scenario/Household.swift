import CLinux
import DaemonControl
import Glibc

/// Where a drill's files are.
struct DrillDirectory: Sendable {
    let path: String
    let isSeparate: Bool

    /// A directory of its own under TMPDIR.
    init(isSeparate: Bool) throws {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array((base + "/latch-drill-XXXXXX").utf8CString)
        guard let made = mkdtemp(&template) else { throw DrillError.system("cannot make a directory under \(base)") }
        path = String(cString: made)
        self.isSeparate = isSeparate
        for folder in Set([captures, scratch, traces, state(.lock), state(.key)]) {
            guard mkdir(folder, 0o700) == 0 else { throw DrillError.system("cannot make \(folder)") }
        }
    }

    var air: String { "\(path)/air.sock" }
    var airControl: String { "\(path)/air.control" }
    var captures: String { "\(path)/captures" }
    var scratch: String { "\(path)/scratch" }
    var traces: String { "\(path)/traces" }
    func state(_ role: Role) -> String { isSeparate ? "\(path)/\(role.rawValue)" : "\(path)/state" }
    func database(_ role: Role) -> String { "\(state(role))/latch.sqlite" }
    func socket(_ role: Role) -> String { "\(state(role))/\(role.command).sock" }
    func log(_ name: String) -> String { "\(path)/\(name).log" }
    func configuration(_ role: Role) -> String { "\(path)/\(role.command).conf" }
    /// The metal is on no machine's disk, where each machine has one.
    var boltJournal: String { isSeparate ? "\(path)/bolt.journal" : "\(state(.lock))/bolt.journal" }

    func write(_ text: String, to file: String) throws {
        let descriptor = latch_open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DrillError.system("cannot write \(file)") }
        defer { close(descriptor) }
        let octets = Array(text.utf8)
        guard Glibc.write(descriptor, octets, octets.count) == octets.count else {
            throw DrillError.system("cannot write \(file)")
        }
    }

    /// The whole of a file; empty when there is none.
    static func read(_ file: String) -> [UInt8] {
        let descriptor = latch_open(file, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var octets: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return octets }
            octets += buffer[..<count]
        }
    }

    /// Removes it with everything in it.
    func remove() { Self.remove(path) }

    static func remove(_ path: String) {
        if let directory = opendir(path) {
            defer { closedir(directory) }
            while let entry = readdir(directory) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != ".", name != ".." { remove(path + "/" + name) }
            }
            rmdir(path)
        } else {
            unlink(path)
        }
    }
}

/// A system call at whose entry a process is to be killed.
struct Aim: Equatable {
    var name: String
    /// Counted from the launch.
    var number: Int
    /// Only calls that touch this file count.
    var path: String?
}

/// The radio, the lock and the key as processes: started, killed, started again.
final class Household {
    let directory: DrillDirectory
    let waiter: Waiter
    let observer: AirObserver
    private let programs: Programs
    private let strace: String?
    private var radioProcess: RadioProcess?
    private var daemons: [Role: ProcessHandle] = [:]
    private(set) var radio: RadioControlClient?
    private var traceCount = 0

    /// How long a daemon may take to come up or to end in an orderly way.
    static let patienceSeconds: UInt64 = 15
    /// Metres between lock and key when they hear each other, and when they do not.
    private static let near = 2
    private static let far = 100_000

    init(
        _ directory: DrillDirectory, programs: Programs, strace: String? = nil, seed: UInt64, waiter: Waiter,
        relockSeconds: Int = 30, travelMilliseconds: Int = 100
    ) throws {
        self.directory = directory
        self.waiter = waiter
        self.programs = programs
        self.strace = strace
        observer = AirObserver(directory: directory.captures)
        try directory.write(
            "[lock]\nrelock_seconds = \(relockSeconds)\nchallenge_life_ms = 1000\nbolt_journal = \""
                + "\(directory.boltJournal)\"\n[bolt]\ntravel_ms = \(travelMilliseconds)\n",
            to: directory.configuration(.lock))
        try directory.write("[proximity]\nunlock = false\n", to: directory.configuration(.key))
        let radio = try RadioProcess(
            directory, lab: programs.lab, adapters: Role.allCases.count, seed: seed, waiter: waiter)
        radioProcess = radio
        self.radio = radio.control
    }

    // MARK: Daemons

    func isAlive(_ role: Role) -> Bool { daemons[role].map { !$0.hasEnded } ?? false }

    /// Starts a daemon, under strace when its end is to come at a system call or its calls are to be counted. The direct
    /// child is the daemon either way: strace is told to run beside it.
    @discardableResult
    func start(
        _ role: Role, aim: Aim? = nil, countingTo trace: String? = nil, under tracer: CallTrace? = nil
    ) throws -> ProcessHandle {
        var arguments: [String] = []
        if let aim, let strace {
            traceCount += 1
            arguments = [
                strace, "-D", "-f", "-y", "-o", "\(directory.traces)/\(traceCount)-\(role.rawValue)", "-e",
                "trace=\(aim.name)", "-e", "inject=\(aim.name):signal=SIGKILL:when=\(aim.number)",
            ]
            if let path = aim.path { arguments += ["-P", path] }
        } else if let trace, let strace {
            arguments = [strace, "-D", "-f", "-y", "-o", trace, "-e", "trace=" + Calls.all.joined(separator: ",")]
        }
        arguments += [
            programs.latch, role.command, "run", "--config", directory.configuration(role), "--transport",
            "unix:\(role.adapter.socket(of: directory.air))", "--state", directory.state(role),
        ]
        let process = try ProcessHandle(arguments, log: directory.log(role.rawValue), trace: tracer)
        daemons[role] = process
        return process
    }

    func kill(_ role: Role) { daemons[role]?.kill() }

    /// Whether it ends by itself until then.
    func awaitEnd(_ role: Role, until deadline: UInt64) throws -> Bool {
        guard let process = daemons[role] else { return true }
        return try process.wait(waiter, until: deadline) != nil
    }

    func stop(_ role: Role) throws {
        guard let process = daemons[role], !process.hasEnded else { return }
        process.terminate()
        let deadline = Clock.now + Clock.milliseconds(Self.patienceSeconds * 1000)
        guard try process.wait(waiter, until: deadline) != nil else {
            throw DrillError(.stuck, "the \(role.rawValue) does not end when it is told to")
        }
        observer.ended(role, at: Clock.now)
    }

    /// Ends everything that was started, whatever the reason.
    func endAll() {
        for process in daemons.values { process.kill() }
        radioProcess?.kill()
    }

    /// Asks a daemon; nil when it cannot be reached.
    func ask(_ role: Role, _ request: some ControlRequest) -> DaemonExchange? {
        try? DaemonExchange(request, socket: directory.socket(role), waiter: waiter)
    }

    /// What a daemon says of itself; nil when it says nothing.
    func status(of role: Role) throws -> JSONObject? {
        try DaemonExchange.result(
            of: PeripheralRequest.status, from: directory.socket(role), waiter,
            until: Clock.now + Clock.milliseconds(1_000))
    }

    /// `latch central enroll -`, with the code on its standard input, where no other user sees it.
    func enrolmentCommand(code: String) throws -> ProcessHandle {
        try ProcessHandle(
            [programs.latch, "central", "enroll", "--state", directory.state(.key), "--seconds", "20", "-"],
            log: directory.log("enrolment"), input: Array((code + "\n").utf8))
    }

    // MARK: The world

    func setKeyNear(_ isNear: Bool) throws {
        try radio?.setDistance(
            Role.lock.adapter.name, Role.key.adapter.name, metres: isNear ? Self.near : Self.far)
    }

    func look(_ role: Role, checkingIntegrity: Bool = false) throws -> DatabaseAuditor.Finding {
        let others = directory.isSeparate ? [role] : Role.allCases
        return try DatabaseAuditor(database: directory.database(role), scratch: directory.scratch)
            .look(checkingIntegrity: checkingIntegrity, isOpenElsewhere: others.contains(where: isAlive))
    }

    func movements() throws -> [Movement] {
        do throws(JournalReader.Malformed) {
            let octets = DrillDirectory.read(directory.boltJournal)
            return octets.isEmpty ? [] : try JournalReader.read(octets)
        } catch {
            throw DrillError(.stuck, "line \(error.line) of the bolt's journal is damaged")
        }
    }
}

/// What strace counted.
enum Calls {
    static let all = [
        "openat", "read", "write", "pread64", "pwrite64", "fdatasync", "fcntl", "flock", "connect", "accept4",
        "sendto", "recvfrom", "epoll_wait",
    ]

    /// How often each was called; `flock` only on the store's lock file.
    static func counts(_ trace: [UInt8]) -> [String: Int] {
        var counts: [String: Int] = [:]
        for line in trace.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self)
            let call = text.drop { $0.isNumber || $0 == " " }.prefix { $0 != "(" }
            let name = String(call)
            guard all.contains(name), name != "flock" || text.contains("latch.sqlite.lock>") else { continue }
            counts[name, default: 0] += 1
        }
        return counts
    }
}
