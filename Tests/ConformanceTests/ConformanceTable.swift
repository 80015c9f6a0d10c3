import Foundation

/// docs/CONFORMANCE.md: rows that begin with an id.
struct ConformanceTable {
    struct Row {
        let id: String
        let cover: TestTable.Cover

        var tests: [String] {
            guard case .tests(let names) = cover else { return [] }
            return names
        }
    }

    /// Ids with what covers them.
    let rows: [Row]
    let document: TestTable

    static let reasons = ["not yet: ", "not ours: ", "needs a PTS: "]

    init(_ markdown: String) {
        document = TestTable(markdown)
        rows = document.rows.filter { $0.count == 3 }.map {
            Row(id: $0[0], cover: TestTable.cover($0[2], reasons: Self.reasons))
        }
    }

    /// `GATT/SR/GAR/BV-01-C`
    static func isWellFormed(_ id: String) -> Bool {
        id.wholeMatch(of: /(?:GAP|GATT|L2CAP|SM)(?:\/[A-Z]+){1,2}\/B[VI]-\d\d-C/) != nil
    }
}
