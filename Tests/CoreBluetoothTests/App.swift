import Foundation
import Glibc
import TestSupport

/// An example that was built beside the test bundle, as a process that ends with this object.
final class App {
    private let process: ChildProcess
    private var unread: [String] = []
    private var rest = ""

    /// `environment` is all that it has. `runner` is a program, by its path, and its arguments that runs the app.
    init(
        _ name: String, _ arguments: [String] = [], environment: [String: String] = [:], runner: [String] = []
    ) throws {
        process = try ChildProcess(
            runner + [Self.path(name)] + arguments,
            environment: environment.merging(["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]) { mine, _ in mine })
    }

    /// Where a program is that was built beside the test bundle.
    static func path(_ name: String) throws -> String {
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
    }

    func kill() async {
        process.signal(SIGKILL)
        _ = await process.end()
    }

    /// The exit status that it ended with by itself, waited for; nil when a signal ended it.
    var status: Int32? { get async { await process.end().status } }

    /// One line on its standard input. Only while it runs.
    func type(_ line: String) throws { try process.input.write(contentsOf: Data((line + "\n").utf8)) }

    /// Sends it `signal`.
    func signal(_ signal: Int32) { process.signal(signal) }

    /// Waits for its end; the signal that ended it, 0 when none did.
    func end() async -> Int32 { await process.end().signal ?? 0 }

    private static let patienceMilliseconds: Int32 = 300_000

    /// The next line that it prints; nil when it has ended, or says nothing for far longer than anything takes.
    func line() async -> String? {
        while unread.isEmpty { guard await hears() else { return nil } }
        return unread.removeFirst()
    }

    /// The next line that begins so. What it prints before that is still to be read.
    func line(beginning: String) async -> String? {
        while true {
            if let index = unread.firstIndex(where: { $0.hasPrefix(beginning) }) { return unread.remove(at: index) }
            guard await hears() else { return nil }
        }
    }

    /// Waits for more of what it prints; false when there is no more.
    private func hears() async -> Bool {
        let reader = process.output
        let more = await offPool {
            var waiting = pollfd(fd: reader.fileDescriptor, events: Int16(POLLIN), revents: 0)
            return poll(&waiting, 1, Self.patienceMilliseconds) == 1 ? reader.availableData : Data()
        }
        guard !more.isEmpty else { return false }
        var lines = (rest + String(decoding: more, as: UTF8.self)).components(separatedBy: "\n")
        rest = lines.removeLast()
        unread += lines
        return true
    }

    /// Every line up to one that is `wanted`.
    func lines(until wanted: String) async throws -> [String] { try await lines { $0 == wanted } }

    /// Every line up to one that is wanted.
    func lines(until isWanted: (String) -> Bool) async throws -> [String] {
        var lines: [String] = []
        while lines.last.map(isWanted) != true {
            guard let line = await line() else {
                let complaint = await complaint
                throw Ended(after: lines, complaint: complaint)
            }
            lines.append(line)
        }
        return lines
    }

    /// It ended, or said nothing any more, before what was wanted came.
    struct Ended: Error {
        let after: [String]
        let complaint: String
    }

    /// All that it wrote on standard error, once it has ended.
    var complaint: String {
        get async {
            await kill()
            let reader = process.errors
            return await offPool { String(decoding: reader.readDataToEndOfFile(), as: UTF8.self) }
        }
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
