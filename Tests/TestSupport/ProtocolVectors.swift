import Foundation

/// The vectors of docs/PROTOCOL.md, by their names: the document cannot drift from the code, nor the code from it.
package struct ProtocolVectors {
    private let vectors: [String: String]

    package init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "docs/PROTOCOL.md"), encoding: .utf8)
        var vectors: [String: String] = [:]
        var isInside = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInside = line == "```vectors"
            } else if isInside, let equals = line.range(of: " = ") {
                let name = line[..<equals.lowerBound].trimmingCharacters(in: .whitespaces)
                vectors[name] = line[equals.upperBound...].trimmingCharacters(in: .whitespaces)
            }
        }
        self.vectors = vectors
    }

    /// nil: the document has none of this name.
    package subscript(name: String) -> String? { vectors[name] }
}
