import Foundation
import Testing

/// Holds the table of docs/PERSISTENCE.md that says what each fault of a disk does to the tests that show it.
@Suite struct FailingMediumTableTests {
    private static let heading = "## What a failing medium does\n"

    @Test("Each fault of a disk that the page on the store names has tests that are there")
    func cover() throws {
        let path = ConformanceTests.root.appendingPathComponent("docs/PERSISTENCE.md")
        let page = try String(contentsOf: path, encoding: .utf8)
        let section = try #require(page.components(separatedBy: Self.heading).dropFirst().first)
        let rows = TestTable(section.components(separatedBy: "\n## ")[0]).rows
        #expect(rows.count > 15, "the table was read")
        let names = Set(try TestCatalogue(of: ConformanceTests.root).entries.map(\.name))
        for row in rows {
            guard row.count == 5, case .tests(let tests) = TestTable.cover(row[4]) else {
                Issue.record("malformed: \(row)")
                continue
            }
            for test in tests { #expect(names.contains(test), "\(row[0]): there is no test \(test)") }
        }
    }
}
