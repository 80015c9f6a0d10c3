import Foundation

/// docs/BOUNDS.md: rows of what is bounded, by which constant, at what value, what becomes of one more, and which tests
/// show that.
struct BoundsTable {
    struct Row {
        let subject: String
        /// `Type.constant`, or words where the bound is no constant.
        let bound: String
        let value: String
        let cover: TestTable.Cover

        var tests: [String] {
            guard case .tests(let names) = cover else { return [] }
            return names
        }

        /// nil where the bound is no constant.
        var constant: String? {
            bound.wholeMatch(of: /`(\w+\.\w+)`/).map { String($0.1) }
        }

        /// The number that the cell begins with, its thousands set apart by commas.
        var number: Int? {
            value.firstMatch(of: /^[\d,]+/).flatMap { Int($0.0.replacing(",", with: "")) }
        }
    }

    let rows: [Row]
    let document: TestTable
    private let markdown: String

    init(_ markdown: String) {
        self.markdown = markdown
        document = TestTable(markdown)
        rows = document.rows.filter { $0.count == 5 }.map {
            Row(subject: $0[0], bound: $0[1], value: $0[2], cover: TestTable.cover($0[4]))
        }
    }

    func mentions(_ constant: String) -> Bool { markdown.contains("`\(constant)`") }
}

/// The integer constants of the sources by `Type.name`, read as their formatter leaves them.
struct ConstantCatalogue {
    private(set) var values: [String: Set<Int>] = [:]

    init(of root: URL, without rooms: [String] = []) throws {
        let sources = root.appendingPathComponent("Sources")
        for path in try FileManager.default.subpathsOfDirectory(atPath: sources.path)
        where path.hasSuffix(".swift") && !rooms.contains(where: { path.hasPrefix($0 + "/") }) {
            read(try String(contentsOf: sources.appendingPathComponent(path), encoding: .utf8))
        }
    }

    init(source: String) { read(source) }

    private static let keywords: Set<Substring> = ["struct", "class", "enum", "actor", "extension", "static"]

    private mutating func read(_ source: String) {
        var types: [(indent: Int, name: Substring)] = []
        for line in source.split(separator: "\n") {
            // Most lines are neither, and a regular expression is slow to find that out.
            let words = line.split(separator: " ", maxSplits: 5)
            guard words.contains(where: Self.keywords.contains) else { continue }
            let indent = line.utf8.prefix { $0 == UInt8(ascii: " ") }.count
            if let type = line.firstMatch(of: /^ *(?:[a-z@]\w* )*(?:struct|class|enum|actor|extension) (\w+)/) {
                types.removeAll { $0.indent >= indent }
                types.append((indent, type.1))
                continue
            }
            guard
                let constant = line.firstMatch(
                    of: /\bstatic (?:let|var) (\w+)(?:: \w+)?(?: =)? \{? ?([^{}]+?)(?: \})?$/),
                let type = types.last(where: { $0.indent < indent }), let value = Self.evaluate(String(constant.2))
            else { continue }
            values["\(type.name).\(constant.1)", default: []].insert(value)
        }
    }

    /// Sums of products of shifts of literals; nil for everything else.
    static func evaluate(_ expression: String) -> Int? {
        func all(_ parts: [String], _ part: (String) -> Int?, _ join: (Int, Int) -> Int) -> Int? {
            let values = parts.map(part)
            guard let first = values[0], !values.contains(nil) else { return nil }
            return values.dropFirst().compactMap(\.self).reduce(first, join)
        }
        func literal(_ text: String) -> Int? {
            let digits = text.replacing("_", with: "")
            return digits.hasPrefix("0x") ? Int(digits.dropFirst(2), radix: 16) : Int(digits)
        }
        func shift(_ text: String) -> Int? { all(text.components(separatedBy: " << "), literal, <<) }
        func product(_ text: String) -> Int? { all(text.components(separatedBy: " * "), shift, *) }
        return all(expression.components(separatedBy: " + "), product, +)
    }
}
