import Foundation
import Testing

/// The table of docs/RESTORATION.md, "The matrix", held against the tests.
@Suite("docs/RESTORATION.md: the matrix's table")
struct MatrixPageTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()

    private static func table() throws -> [[String]] {
        let page = folder.appendingPathComponent("../../../docs/RESTORATION.md").standardized
        let text = try String(contentsOf: page, encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## ").first { $0.hasPrefix("The matrix\n") })
        let first = section.components(separatedBy: "\n\n").first { $0.hasPrefix("| |") }
        return try #require(first).split(separator: "\n").map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test("each column is a wish, and each cell names a test that takes all of them, or says that there is none")
    func cells() throws {
        let table = try Self.table()
        #expect(Array(table[0].dropFirst()) == Wish.allCases.map(\.rawValue))
        let source = try String(
            contentsOf: Self.folder.appendingPathComponent("RestorationMatrixTests.swift"), encoding: .utf8)
        let tests = Set(source.matches(of: /func (\w+)\(_ wish: Wish[,)]/).map { String($0.1) })
        var named: Set<String> = []
        for row in table.dropFirst(2) {
            #expect(row.count == Wish.allCases.count + 1, "\(row)")
            for cell in row.dropFirst() where cell != "none" {
                let name = cell.trimmingCharacters(in: ["`"])
                #expect(tests.contains(name), "\(row[0]): \(cell)")
                named.insert(name)
            }
        }
        #expect(named == tests)
    }
}
