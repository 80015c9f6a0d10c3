import CommandInterface
import DaemonControl
import Foundation
import SetupCodeGiving
import Testing

@testable import StrikeKeeping
@testable import latch

/// docs/OPERATING.md is what an operator has at night.
@Suite("docs/OPERATING.md")
struct OperatingGuideTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func page(_ name: String = "docs/OPERATING.md") throws -> String {
        try String(contentsOf: root.appending(path: name), encoding: .utf8)
    }

    /// README and everything in docs/.
    private static func pages() throws -> [String: String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: "docs").path)
        let all = ["README.md"] + names.filter { $0.hasSuffix(".md") }.map { "docs/" + $0 }
        return try Dictionary(uniqueKeysWithValues: all.map { ($0, try page($0)) })
    }

    /// The rows of the table under a heading, cell by cell, without its head.
    private static func table(under heading: String) throws -> [[String]] {
        let page = try page()
        let section = try #require(page.components(separatedBy: "\n## ").first { $0.hasPrefix(heading + "\n") })
        return section.split(separator: "\n").filter { $0.hasPrefix("|") }.dropFirst(2).map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The requests that a daemon says it knows when it is asked for what it does not.
    private static func known(_ refuse: ([UInt8]) throws -> Void) throws -> Set<String> {
        let failure = #expect(throws: ControlFailure.self) { try refuse(Array(#"{"request":"?"}"#.utf8)) }
        let list = try #require(failure?.message.components(separatedBy: "knows ").last)
        return Set(list.components(separatedBy: ", "))
    }

    @Test("The control socket's table has each request of each daemon, and no other")
    func requests() throws {
        var documented: [String: Set<String>] = [:]
        for row in try Self.table(under: "The control socket") {
            for side in row[1] == "both" ? ["lock", "key"] : [row[1]] {
                documented[side, default: []].formUnion(row[0].matches(of: /`(\w+)`/).map { String($0.1) })
            }
        }
        #expect(try documented["lock"] == Self.known { _ = try PeripheralRequest(line: $0) })
        #expect(try documented["key"] == Self.known { _ = try CentralRequest(line: $0) })
    }

    @Test("The words that an enrolment may have are the program's")
    func enrolment() throws {
        let row = try #require(
            try Self.table(under: "The control socket").first { $0[0] == "`enroll`" && $0[1] == "lock" })
        typealias Enrolment = PeripheralRequest.Enrolment
        for (name, words) in [
            ("method", Enrolment.Method.allCases.map(\.rawValue)), ("kind", Enrolment.Kind.allCases.map(\.rawValue)),
        ] {
            #expect(row[2].contains("`\(name)` (\(words.joined(separator: ", ")))"))
        }
    }

    @Test("Who is turned away by the helper for setup codes is sent to the section that says who may be let in")
    func letIn() throws {
        let heading = try #require("\(GivingAnswer.notAllowed)".firstMatch(of: /OPERATING\.md, "(.+?)"/)).1
        let sections = try Self.page().components(separatedBy: "\n### ")
        let section = try #require(sections.first { $0.hasPrefix(heading + "\n") })
        #expect(section.contains("--anyone"))
    }

    @Test("The table of exit statuses is the program's")
    func exitStatuses() throws {
        let documented = try Self.table(under: "Exit status").map { "\($0[0]) \($0[1])" }
        #expect(documented == ExitCode.allCases.map { "\($0.rawValue) \($0.meaning)" })
    }

    /// All keys are in the files of config/, which `SettingsTests` and `StrikeSettingsTests` hold to the programs.
    @Test("Every configuration key that a page names is one that a daemon reads, in the section that is named")
    func configurationKeys() throws {
        let keys =
            PeripheralSettings.keys.map { (section: $0.section, name: $0.name) }
            + CentralSettings.keys.map { (section: $0.section, name: $0.name) }
            + StrikeSettings.keys.map { (section: $0.section, name: $0.name) }
        var count = 0
        for (name, page) in try Self.pages() {
            for key in page.matches(of: #/`(?:\[(\w+)\] )?([a-z_]+) = /#) {
                #expect(keys.contains { $0 == (String(key.1 ?? ""), String(key.2)) }, "\(name): \(key.0)")
                count += 1
            }
            for key in page.matches(of: /`\[(\w+)\] ([a-z_]+)`/) {
                #expect(keys.contains { $0 == (String(key.1), String(key.2)) }, "\(name): \(key.0)")
                count += 1
            }
        }
        #expect(count > 3, "the pages were read")
    }

    @Test("Every event and every member of a status that the guide names is one that a daemon says")
    func events() throws {
        let sources = Self.root.appending(path: "Sources")
        let texts = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
            .filter { $0.hasPrefix("latch/") && $0.hasSuffix(".swift") }
            .map { try String(contentsOf: sources.appending(path: $0), encoding: .utf8) }
        let words = Set(try Self.page().matches(of: /`([a-z]+(?:_[a-z]+)+)`/).map { String($0.1) })
        #expect(words.count > 10, "the guide was read")
        for word in words {
            #expect(texts.contains { $0.contains("\"\(word)\"") || $0.contains("\"\(word)=") }, "\(word)")
        }
    }

    /// The words after `latch `, as they stand in code: behind a backquote, a `$`, a path or at the beginning of a line.
    private static func commandLines(in page: String) -> [[Substring]] {
        page.components(separatedBy: "\n").flatMap { line in
            let parts = line.components(separatedBy: "latch ")
            return zip(parts, parts.dropFirst()).compactMap { before, after -> [Substring]? in
                guard
                    before.isEmpty || before.hasSuffix("sudo ") || before.hasSuffix("/usr/bin/")
                        || "`$".contains(before.last ?? " ")
                else {
                    return nil
                }
                return after.prefix { !"`#|&".contains($0) }.split(separator: " ")
            }
        }
    }

    /// PROTOCOL has `latch receipt 1`, which is what a key is derived with.
    @Test("Every command line that a page shows has a command and options of the program")
    func commands() throws {
        var count = 0
        for (name, page) in try Self.pages() where name != "docs/PROTOCOL.md" {
            for words in Self.commandLines(in: page) {
                let path = words.prefix { $0.wholeMatch(of: /[a-z][a-z-]*/) != nil }.map(String.init)
                let command = Commands.all.first { path.starts(with: $0.path) }
                let isGroup = Commands.all.contains { $0.path.starts(with: path) }
                #expect(command != nil || isGroup, "\(name): latch \(words.joined(separator: " "))")
                count += 1
                if case .forwarded? = command?.operands { continue }
                let known = (command?.options.map(\.name) ?? []) + ["help", "version"]
                for word in words where word.hasPrefix("--") {
                    let option = String(word.dropFirst(2).prefix { $0 != "=" })
                    #expect(known.contains(option), "\(name): latch \(words.joined(separator: " "))")
                }
            }
        }
        #expect(count > 20, "the pages were read")
    }
}
