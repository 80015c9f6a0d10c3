import Foundation
import TestSupport
import Testing

/// The built programs, next to the test bundle: `latch`, which operators run, and those beside it.
enum Program {
    struct Outcome: Sendable {
        var status: Int32
        var output: String
        var errors: String

        /// The one line that a failure is.
        var errorLines: [Substring] { errors.split(separator: "\n", omittingEmptySubsequences: true) }
    }

    /// What each of them finds in its environment.
    static let environment = ["PATH": "/usr/bin:/bin"]

    static var path: String { built("latch") }
    static var strike: String { built("latch-strike") }
    static var lab: String { built("latch-lab") }
    static var helper: String { built("latch-oob") }

    private static func built(_ name: String) -> String {
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
    }

    static func run(
        _ arguments: [String], of program: String = path, input: String = "", environment: [String: String] = [:]
    ) throws -> Outcome {
        let outcome = try ChildProcess.run(
            [program] + arguments, environment: environment.merging(Self.environment) { mine, _ in mine }, input: input)
        return Outcome(status: outcome.end.code, output: outcome.output, errors: outcome.errors)
    }

    /// Gives a command of `latch`'s once for each of its calls of these kinds, and kills it there; the last time of each kind it goes through.
    /// `prepare` comes before it, and `check` behind it, with the place and whether it was killed. How many kills there were.
    static func killed(
        at calls: [String], _ words: [String], prepare: () throws -> Void,
        check: (_ place: String, _ isKilled: Bool) throws -> Void
    ) throws -> Int {
        var kills = 0
        for call in calls {
            // strace counts each kind of call by itself: by one number for all of them no call of a rare kind that comes late is met.
            for number in 1...400 {
                try prepare()
                let outcome = try run(
                    [
                        "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                        "inject=\(call):signal=SIGKILL:when=\(number)", path,
                    ] + words, of: "/usr/bin/strace")
                try check("\(call) \(number)", outcome.status != 0)
                if outcome.status == 0 { break }
                try #require(number < 400, "it never goes through: \(outcome)")
                kills += 1
            }
        }
        return kills
    }
}

/// A directory that goes with the test.
final class TemporaryDirectory {
    let path: String

    init(mode: Int = 0o700, in parent: String = NSTemporaryDirectory()) throws {
        path = parent + "latch-" + UUID().uuidString.prefix(8)
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
