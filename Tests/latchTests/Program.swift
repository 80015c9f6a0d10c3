import Foundation
import Testing

/// The built programs, next to the test bundle: `latch`, which operators run, and `latch-lab`.
enum Program {
    struct Outcome: Sendable {
        var status: Int32
        var output: String
        var errors: String

        /// The one line that a failure is.
        var errorLines: [Substring] { errors.split(separator: "\n", omittingEmptySubsequences: true) }
    }

    static var path: String { built("latch") }
    static var lab: String { built("latch-lab") }

    private static func built(_ name: String) -> String {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
    }

    static func run(
        _ arguments: [String], of program: String = path, input: String = "", environment: [String: String] = [:]
    ) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = environment.merging(["PATH": "/usr/bin:/bin"]) { mine, _ in mine }
        let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        try? standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try? standardInput.fileHandleForWriting.close()
        // Both are far smaller than a pipe holds.
        let said = output.fileHandleForReading.readDataToEndOfFile()
        let complained = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(
            status: process.terminationStatus, output: String(decoding: said, as: UTF8.self),
            errors: String(decoding: complained, as: UTF8.self))
    }
}

/// A directory that goes with the test.
final class TemporaryDirectory {
    let path: String

    init(mode: Int = 0o700) throws {
        path = NSTemporaryDirectory() + "latch-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: mode])
    }

    func write(_ text: String, to name: String) throws -> String {
        let file = path + "/" + name
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
