import DaemonControl
import Foundation
import Testing

@testable import latch

/// docs/OPERATING.md is what an operator has at night.
@Suite("docs/OPERATING.md")
struct OperatingGuideTests {
    /// The rows of the table under a heading, cell by cell, without its head.
    private static func table(under heading: String) throws -> [[String]] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/OPERATING.md"), encoding: .utf8)
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

    @Test("The table of exit statuses is the program's")
    func exitStatuses() throws {
        let documented = try Self.table(under: "Exit status").map { "\($0[0]) \($0[1])" }
        #expect(documented == ExitCode.allCases.map { "\($0.rawValue) \($0.meaning)" })
    }
}
