import Foundation

/// docs/CONFORMANCE.md as the check reads it: rows that begin with an id, and rows that begin with a test's name.
struct ConformanceTable {
    struct Row {
        let id: String
        let cover: Cover

        var tests: [String] {
            guard case .tests(let names) = cover else { return [] }
            return names
        }
    }

    enum Cover: Equatable {
        case tests([String])
        /// `not yet: …`, `not ours: …` or `needs a PTS: …`
        case reason(String)
        case malformed(String)
    }

    /// Ids with what covers them.
    let rows: [Row]
    /// Tests with the titles under which the runner reports them.
    let titles: [(name: String, title: String)]

    static let reasons = ["not yet: ", "not ours: ", "needs a PTS: "]

    init(_ markdown: String) {
        var rows: [Row] = []
        var titles: [(name: String, title: String)] = []
        for line in markdown.split(separator: "\n") where line.hasPrefix("| ") && line.hasSuffix(" |") {
            let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
            switch cells.count {
            case 3 where cells[0] != "Id": rows.append(Row(id: cells[0], cover: Self.cover(cells[2])))
            case 2 where cells[0] != "Test" && cells[0].hasPrefix("`"):
                titles.append((cells[0].replacing("`", with: ""), cells[1]))
            default: continue
            }
        }
        self.rows = rows
        self.titles = titles
    }

    static func cover(_ cell: String) -> Cover {
        for reason in reasons where cell.hasPrefix(reason) && cell.count > reason.count { return .reason(cell) }
        let names = cell.components(separatedBy: ", ")
        let isWhole = names.allSatisfy { $0.wholeMatch(of: /`\w+\.\w+`/) != nil }
        return isWhole ? .tests(names.map { $0.replacing("`", with: "") }) : .malformed(cell)
    }

    /// `GATT/SR/GAR/BV-01-C`
    static func isWellFormed(_ id: String) -> Bool {
        id.wholeMatch(of: /(?:GAP|GATT|L2CAP|SM)(?:\/[A-Z]+){1,2}\/B[VI]-\d\d-C/) != nil
    }
}
