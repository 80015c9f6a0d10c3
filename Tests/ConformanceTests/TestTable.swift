import Foundation

/// A document whose rows end with the tests that stand for them, as its check reads it: tables, and behind them the one
/// of the tests' titles.
struct TestTable {
    enum Cover: Equatable {
        case tests([String])
        /// Of those that a document allows in the place of a test.
        case reason(String)
        case malformed(String)
    }

    /// Cells of each row, but for those of the last table and the headings.
    let rows: [[String]]
    /// Tests with the titles under which the runner reports them.
    let titles: [(name: String, title: String)]

    static let titleHeading = "| Test | Title |"

    init(_ markdown: String) {
        let lines = markdown.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let end = lines.lastIndex(of: Self.titleHeading) ?? lines.endIndex
        rows = Self.rows(lines[..<end])
        titles = Self.rows(lines[end...]).filter { $0.count == 2 }.map {
            ($0[0].replacing("`", with: ""), $0[1])
        }
    }

    /// A heading is what stands before a line of dashes.
    private static func rows(_ lines: ArraySlice<String>) -> [[String]] {
        var rows: [[String]] = []
        for line in lines {
            if line.hasPrefix("|-") {
                if !rows.isEmpty { rows.removeLast() }
            } else if line.hasPrefix("| "), line.hasSuffix(" |") {
                rows.append(line.dropFirst(2).dropLast(2).components(separatedBy: " | "))
            }
        }
        return rows
    }

    /// What a row's last cell says: `Suite.function` of one test or more, or one of the reasons.
    static func cover(_ cell: String, reasons: [String] = []) -> Cover {
        for reason in reasons where cell.hasPrefix(reason) && cell.count > reason.count { return .reason(cell) }
        let names = cell.components(separatedBy: ", ")
        let isWhole = names.allSatisfy { $0.wholeMatch(of: /`\w+\.\w+`/) != nil }
        return isWhole ? .tests(names.map { $0.replacing("`", with: "") }) : .malformed(cell)
    }
}
