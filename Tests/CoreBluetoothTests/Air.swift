import Foundation
import Glibc
import TestSupport
import Testing

/// A radio, and what the apps beside it find in their environments.
final class Air {
    let directory: TemporaryDirectory
    private var radio: App?

    init(withRadio: Bool = true) async throws {
        directory = try TemporaryDirectory()
        if withRadio { try await plug() }
    }

    /// There are controllers: one for each app that asks for one, and adapters, each with an address of its own.
    func plug() async throws {
        radio = try App(
            "latch-lab",
            [
                "radio", "--socket", directory.path + "/air", "--control", directory.path + "/control", "--air",
                "immediate", "--adapters", "2",
            ])
        let control = directory.path + "/control"
        for _ in 0..<12_000 where !FileManager.default.fileExists(atPath: control) {
            try await Task.sleep(for: .milliseconds(10))
        }
        try #require(FileManager.default.fileExists(atPath: control), "no radio has come")
    }

    /// There are no controllers any more, and nobody at their sockets.
    func unplug() async throws {
        await radio?.kill()
        radio = nil
        for file in try FileManager.default.contentsOfDirectory(atPath: directory.path)
        where file.hasPrefix("air") || file == "control" {
            try FileManager.default.removeItem(atPath: directory.path + "/" + file)
        }
    }

    /// `adapter`: 1 or 2, for an app that is cut off from the other; without a number it has a controller that nobody else has.
    func start(
        _ app: String, _ arguments: [String] = [], adapter: Int? = nil, environment more: [String: String] = [:],
        runner: [String] = []
    ) throws -> App {
        let socket = directory.path + "/air" + (adapter.map { ".\($0)" } ?? "")
        let environment = [
            "HOME": directory.path, "LATCH_TRANSPORT": "unix:" + socket,
        ]
        return try App(
            app, arguments, environment: environment.merging(more) { _, new in new }, runner: runner)
    }

    /// The adapters do not hear each other any more.
    func cut() throws { try control("cut \(Self.adapter(1)) \(Self.adapter(2))") }
    func join() throws { try control("join \(Self.adapter(1)) \(Self.adapter(2))") }

    /// `latch-lab radio --help` gives them.
    private static func adapter(_ number: Int) -> String { "02:4C:41:01:00:0\(number)" }

    /// Says one line to the radio, which has done it when it answers.
    private func control(_ line: String) throws {
        let answer = try radioAnswer(to: line, at: directory.path + "/control")
        try #require(answer.hasPrefix("ok"), "\(line): \(answer)")
    }
}
