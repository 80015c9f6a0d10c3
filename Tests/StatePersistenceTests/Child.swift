import Glibc

/// A process that a test started; what it says on its standard output is read line by line.
final class Child {
    let pid: pid_t
    private let output: UnsafeMutablePointer<FILE>?
    private var isReaped = false

    /// The executables that are built beside the tests.
    static let products: String = {
        guard let resolved = realpath("/proc/self/exe", nil) else { return "" }
        defer { free(resolved) }
        let executable = String(cString: resolved)
        return executable.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }()

    static func hammer(_ arguments: String...) -> Child { Child([products + "/StoreHammer"] + arguments) }

    init(_ arguments: [String]) {
        var ends: [Int32] = [0, 0]
        // SOCK_CLOEXEC is O_CLOEXEC: children of other tests must not inherit an end and keep it open.
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | O_CLOEXEC, 0, &ends)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var started: pid_t = -1
        posix_spawnp(&started, arguments[0], &actions, nil, &argv, environ)
        posix_spawn_file_actions_destroy(&actions)
        for argument in argv { free(argument) }
        close(ends[1])
        output = fdopen(ends[0], "r")
        pid = started
    }

    deinit {
        if !isReaped {
            kill()
            _ = wait()
        }
        if let output { fclose(output) }
    }

    func line() -> String? {
        var buffer = [CChar](repeating: 0, count: 1_024)
        guard let output, fgets(&buffer, Int32(buffer.count), output) != nil else { return nil }
        let octets = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: octets.last == UInt8(ascii: "\n") ? octets.dropLast() : octets[...], as: UTF8.self)
    }

    /// To the end of the output.
    func lines() -> [String] {
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        return lines
    }

    func kill() { if pid > 0 { Glibc.kill(pid, SIGKILL) } }

    /// The exit code, or the negated signal that ended it.
    func wait() -> Int32 {
        var status: Int32 = 0
        guard pid > 0, waitpid(pid, &status, 0) == pid else { return .min }
        isReaped = true
        return status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
    }
}
