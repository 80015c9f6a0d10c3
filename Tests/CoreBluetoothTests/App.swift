import Foundation
import Glibc
import Testing

/// An example that was built beside the test bundle, as a process that ends with this object.
final class App {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let errors = Pipe()
    private var unread: [String] = []
    private var rest = ""

    /// `environment` is all that it has. `runner` is a program, by its path, and its arguments that runs the app.
    init(
        _ name: String, _ arguments: [String] = [], environment: [String: String] = [:], runner: [String] = []
    ) throws {
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let app = URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
        let words = runner + [app] + arguments
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst())
        process.environment = environment.merging(["PATH": "/usr/bin:/bin"]) { mine, _ in mine }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        // A child begins with the mask of the thread that starts it, and threads of Dispatch block nearly all signals.
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try process.run()
    }

    deinit { kill() }

    func kill() {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    /// How it ended by itself; waited for.
    var status: Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// One line on its standard input. Only while it runs.
    func type(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Sends it `signal`.
    func signal(_ signal: Int32) { Glibc.kill(process.processIdentifier, signal) }

    /// Waits for its end; the signal that ended it, 0 when none did.
    func end() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .uncaughtSignal ? process.terminationStatus : 0
    }

    private static let patienceMilliseconds: Int32 = 30_000

    /// The next line that it prints; nil when it has ended, or says nothing for far longer than anything takes.
    func line() -> String? {
        while unread.isEmpty {
            var waiting = pollfd(fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, Self.patienceMilliseconds) == 1 else { return nil }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { return nil }
            var lines = (rest + String(decoding: more, as: UTF8.self)).components(separatedBy: "\n")
            rest = lines.removeLast()
            unread = lines
        }
        return unread.removeFirst()
    }

    /// Every line up to one that is `wanted`.
    func lines(until wanted: String) throws -> [String] { try lines { $0 == wanted } }

    /// Every line up to one that is wanted.
    func lines(until isWanted: (String) -> Bool) throws -> [String] {
        var lines: [String] = []
        while lines.last.map(isWanted) != true {
            lines.append(try #require(line(), "it ended after \(lines): \(complaint)"))
        }
        return lines
    }

    /// All that it wrote on standard error, once it has ended.
    var complaint: String {
        kill()
        return String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
}

/// A directory that goes with the test.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "corebluetooth-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Until `condition` holds; processes are waited for, and nothing else.
func waits(_ condition: () -> Bool) -> Bool {
    for _ in 0..<1_000 {
        if condition() { return true }
        usleep(10_000)
    }
    return false
}
