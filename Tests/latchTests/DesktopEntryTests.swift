import CommandInterface
import Foundation
import TestSupport
import Testing

@testable import Desktop
@testable import latch

/// What a menu has of a user's key.
///
/// Desktop Entry Specification 1.5
@Suite("The desktop entry")
struct DesktopEntryTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let name = "latch-central"
    private static let path = root.appending(path: "config/desktop/\(name).desktop").path

    /// Its groups, each with its keys.
    private static func groups() throws -> [String: [String: String]] {
        var groups: [String: [String: String]] = [:]
        var group = ""
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("[") {
                group = String(line.dropFirst().dropLast())
                continue
            }
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            try #require(parts.count == 2 && groups[group]?[parts[0]] == nil, "\(line)")
            groups[group, default: [:]][parts[0]] = parts[1]
        }
        return groups
    }

    @Test("It has the keys that a menu needs, and an action that unlocks the nearest lock and tells of it")
    func keys() throws {
        let groups = try Self.groups()
        let entry = try #require(groups["Desktop Entry"])
        for key in ["Name", "Comment", "Icon", "Categories"] { #expect(entry[key]?.isEmpty == false, "\(key)") }
        #expect(entry["Type"] == "Application" && entry["Actions"] == "unlock-nearest;")
        #expect(Set(groups.keys) == ["Desktop Entry", "Desktop Action unlock-nearest"])
        let action = try #require(groups["Desktop Action unlock-nearest"])
        #expect(action["Exec"] == "latch central unlock --nearest --notify" && action["Name"] != nil)
    }

    @Test("Each line that it executes is a command of the program, with options that the command has")
    func commands() throws {
        for (group, keys) in try Self.groups() {
            let words = try #require(keys["Exec"], "\(group)").split(separator: " ").map(String.init)
            #expect(words.first == "latch")
            let command = try #require(
                Commands.all.first { words.dropFirst().starts(with: $0.path) }, "\(words)")
            for word in words where word.hasPrefix("--") {
                #expect(command.options.contains { "--" + $0.name == word }, "\(word)")
            }
        }
    }

    @Test("Notifications of a key that runs name it, and the package installs it under that name")
    func named() throws {
        let board = try String(
            contentsOf: Self.root.appending(path: "Sources/Desktop/NoticeBoard.swift"), encoding: .utf8)
        #expect(board.contains("hints[\"desktop-entry\"] = .string(\"\(Self.name)\")"))
        let package = try String(
            contentsOf: Self.root.appending(path: "packaging/debian/latch-key.install"), encoding: .utf8)
        #expect(package.contains("config/desktop/\(Self.name).desktop usr/share/applications\n"))
    }

    @Test(
        "desktop-file-validate has nothing to say of it",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/desktop-file-validate")))
    func valid() throws {
        let outcome = try ChildProcess.run(["/usr/bin/desktop-file-validate", Self.path])
        #expect(outcome.end == .exited(0) && outcome.output.isEmpty && outcome.errors.isEmpty, "\(outcome)")
    }
}
