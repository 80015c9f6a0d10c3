import CLinux
import Glibc

/// A child process, ended by its pid when it is let go.
final class Child {
    let pid: pid_t
    private var isEnded = false

    /// Output goes to `output`, a path, or nowhere; nil: where this process's own goes.
    init(_ words: [String], output: String? = "/dev/null") throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        if let output {
            posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let status = posix_spawn(&child, words[0], &actions, nil, arguments, environ)
        guard status == 0 else { throw BenchmarkError("\(words[0]): \(String(cString: strerror(status)))") }
        pid = child
    }

    var hasEnded: Bool {
        var status: Int32 = 0
        if !isEnded, waitpid(pid, &status, WNOHANG) == pid { isEnded = true }
        return isEnded
    }

    /// The exit status, once it has ended by itself.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        isEnded = true
        return status
    }

    /// The same, with what it has used of the machine.
    func waitForUsage() -> (status: Int32, usage: rusage) {
        var (status, usage) = (Int32(0), rusage())
        while wait4(pid, &status, 0, &usage) < 0, errno == EINTR {}
        isEnded = true
        return (status, usage)
    }

    /// Once all its threads have had no processor for a while.
    func settle() throws {
        var before = -1.0
        // A thread that has ended takes its time away.
        while case let now = try processorMillisecondsOfThreads(), abs(now - before) > 0.5 {
            before = now
            usleep(300_000)
        }
    }

    /// Asks it to end, and waits until it has.
    func terminate() {
        kill(pid, SIGTERM)
        _ = wait()
    }

    /// What of it is in memory now.
    func residentKilobytes() throws -> Int {
        let status = String(decoding: try contents("/proc/\(pid)/status"), as: UTF8.self)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        guard let word = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first,
            let kilobytes = Int(word)
        else { throw BenchmarkError("/proc does not say how much memory process \(pid) has") }
        return kilobytes
    }

    /// What its first thread has had of a processor: the neighbours' load does not lengthen that as it does the clock's time.
    func processorMilliseconds() throws -> Double {
        let schedule = String(decoding: try contents("/proc/\(pid)/schedstat"), as: UTF8.self)
        guard let nanoseconds = schedule.split(separator: " ").first.flatMap({ Double($0) }) else {
            throw BenchmarkError("/proc does not say how long process \(pid) ran")
        }
        return nanoseconds / 1e6
    }

    /// The same of all its threads.
    func processorMillisecondsOfThreads() throws -> Double {
        let tasks = "/proc/\(pid)/task"
        guard let directory = opendir(tasks) else { throw BenchmarkError(system: tasks) }
        defer { closedir(directory) }
        var nanoseconds = 0.0
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard Int(name) != nil, let octets = try? contents("\(tasks)/\(name)/schedstat") else { continue }
            nanoseconds +=
                String(decoding: octets, as: UTF8.self).split(separator: " ").first.flatMap { Double($0) } ?? 0
        }
        return nanoseconds / 1e6
    }

    func end() {
        guard !isEnded else { return }
        kill(pid, SIGKILL)
        _ = wait()
    }

    deinit { end() }
}

/// This program's own file.
enum Executable {
    static func path() throws -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        guard count > 0 else { throw BenchmarkError(system: "/proc/self/exe") }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func directory() throws -> String {
        let path = try path()
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}

func contents(_ path: String) throws -> [UInt8] {
    let file = latch_open(path, O_RDONLY, 0)
    guard file >= 0 else { throw BenchmarkError(system: path) }
    defer { close(file) }
    var octets = [UInt8](repeating: 0, count: 65_536)
    let count = read(file, &octets, octets.count)
    return Array(octets.prefix(max(0, count)))
}

func write(_ text: String, to path: String) throws {
    let file = latch_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard file >= 0 else { throw BenchmarkError(system: path) }
    defer { close(file) }
    let octets = Array(text.utf8)
    guard write(file, octets, octets.count) == octets.count else { throw BenchmarkError(system: path) }
}

enum Clock {
    static var microseconds: Double { Double(latch_clock_nanoseconds(CLOCK_MONOTONIC)) / 1e3 }
    static var milliseconds: Double { Double(latch_clock_nanoseconds(CLOCK_MONOTONIC)) / 1e6 }
}

/// A unix stream socket by its path.
enum UnixSocket {
    static func listen(_ path: String) throws -> Int32 {
        unlink(path)
        let socket = try open()
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else { throw BenchmarkError(system: path) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, Glibc.listen(socket, 4) == 0 else { throw BenchmarkError(system: path) }
        return socket
    }

    private static let patienceMilliseconds = 10_000.0

    /// Returns once somebody listens there.
    static func await(_ path: String) throws {
        close(try connectWhenThere(path))
    }

    /// Connects as soon as somebody listens there.
    static func connectWhenThere(_ path: String) throws -> Int32 {
        let end = Clock.milliseconds + patienceMilliseconds
        while Clock.milliseconds < end {
            if let socket = try connect(path) { return socket }
            usleep(1000)
        }
        throw BenchmarkError("\(path): nobody listens")
    }

    /// nil while nobody listens there.
    static func connect(_ path: String) throws -> Int32? {
        let socket = try open()
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else { throw BenchmarkError(system: path) }
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if connected == 0 { return socket }
        close(socket)
        return nil
    }

    private static func open() throws -> Int32 {
        let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw BenchmarkError(system: "socket") }
        return socket
    }
}
