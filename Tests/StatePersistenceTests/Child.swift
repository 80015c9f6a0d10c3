import Foundation
import Glibc
import TestSupport
import Testing

/// A program that a test of the store starts; what it says on its standard output is read line by line.
final class Child {
    private let process: ChildProcess
    /// Of its output, in no line yet.
    private var rest: [UInt8] = []

    /// The executables that are built beside the tests.
    static let products: String = {
        guard let resolved = realpath("/proc/self/exe", nil) else { return "" }
        defer { free(resolved) }
        let executable = String(cString: resolved)
        return executable.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }()

    static func hammer(_ arguments: String...) throws -> Child { try Child([products + "/StoreHammer"] + arguments) }

    /// The program is looked for where a shell would.
    init(_ arguments: [String]) throws {
        process = try ChildProcess(
            ["/usr/bin/env"] + arguments, environment: ProcessInfo.processInfo.environment, errors: .shared)
    }

    /// nil: it has said everything.
    func line() -> String? {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                defer { rest.removeFirst(end + 1) }
                return String(decoding: rest[..<end], as: UTF8.self)
            }
            guard listen() else { break }
        }
        defer { rest = [] }
        return rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
    }

    /// Whether it has said more.
    private func listen() -> Bool {
        var octets = [UInt8](repeating: 0, count: 1_024)
        var count = -1
        repeat { count = read(process.output.fileDescriptor, &octets, octets.count) } while count < 0 && errno == EINTR
        if count < 0 { Issue.record("what process \(process.pid) says cannot be read: errno \(errno)") }
        rest += octets.prefix(max(0, count))
        return count > 0
    }

    /// To the end of the output.
    func lines() -> [String] {
        var lines: [String] = []
        while let line = line() { lines.append(line) }
        return lines
    }

    func kill() { process.signal(SIGKILL) }

    func wait() -> ChildProcess.End { process.wait() }
}
