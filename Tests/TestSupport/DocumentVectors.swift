import Foundation

/// A block of named values in docs/PROTOCOL.md: lines of `name = value` between fences that say `kind`.
package struct DocumentVectors {
    /// In the order of the page.
    package private(set) var names: [String] = []
    private var values: [String: String] = [:]

    package init(_ kind: String) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "docs/PROTOCOL.md"), encoding: .utf8)
        var isInside = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInside = line == "```" + kind
            } else if isInside, let equals = line.range(of: " = ") {
                let name = line[..<equals.lowerBound].trimmingCharacters(in: .whitespaces)
                names.append(name)
                values[name] = line[equals.upperBound...].trimmingCharacters(in: .whitespaces)
            }
        }
    }

    package subscript(name: String) -> String? { values[name] }
}
