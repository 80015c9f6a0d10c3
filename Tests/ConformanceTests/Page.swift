import Foundation
import Testing

/// A page that people read, as the tests of the documentation see it.
struct Page: CustomTestStringConvertible {
    /// Its path from the project's root.
    let name: String
    let lines: [String]
    /// What stands between backquotes, outside of blocks of code.
    let spans: [String]
    /// The lines of its blocks of code.
    let code: [String]
    /// Words of prose and code, without the punctuation around them.
    let words: [Substring]

    var testDescription: String { name }

    private static let after = Set(".:*".utf8)

    init(name: String, _ markdown: String) {
        self.name = name
        lines = markdown.components(separatedBy: "\n")
        var isCode = false
        var (code, prose): ([String], [String]) = ([], [])
        for line in lines {
            if line.hasPrefix("```") {
                isCode.toggle()
                prose.append("")
            } else if isCode || line.hasPrefix("    ") && prose.last?.isEmpty != false {
                code.append(line)
            } else {
                prose.append(line)
            }
        }
        self.code = code
        let between = Set(" \n\t()[]|\"'`<>;,".utf8)
        words = markdown.utf8.split { between.contains($0) }.map { octets in
            var word = Substring(octets)
            while let last = word.utf8.last, Self.after.contains(last) { word.removeLast() }
            return word
        }
        // A span may go on in the next line.
        let pieces = prose.joined(separator: "\n").components(separatedBy: "`")
        spans = pieces.indices.filter { $0 % 2 == 1 }.map { pieces[$0].replacing("\n", with: " ") }
    }

    /// Where its links lead, other pages of the web apart.
    var links: [Substring] {
        lines.flatMap { line in
            line.components(separatedBy: "](").dropFirst().map { $0.prefix { $0 != ")" } }
        }
        .filter { !$0.contains("://") }
    }

    /// What a link's fragment may name.
    var anchors: Set<String> {
        Set(
            lines.filter { $0.hasPrefix("#") }.map { line in
                let title = line.drop { $0 == "#" || $0 == " " }.lowercased()
                return String(title.filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" })
                    .replacing(" ", with: "-")
            })
    }

    /// The articles of the documentation that DocC makes, which resolves their links itself.
    static let articles: [Page] = {
        let catalog = "Sources/CoreBluetooth/CoreBluetooth.docc"
        let names = try? FileManager.default.contentsOfDirectory(atPath: ConformanceTests.root.path + "/" + catalog)
        return (names ?? []).filter { $0.hasSuffix(".md") }.sorted().compactMap { name in
            let path = catalog + "/" + name
            let text = try? String(contentsOf: ConformanceTests.root.appendingPathComponent(path), encoding: .utf8)
            return text.map { Page(name: path, $0) }
        }
    }()

    /// README, CONTRIBUTING, SECURITY, CHANGELOG and everything in docs/.
    static let all: [Page] = {
        let root = ConformanceTests.root
        let files = FileManager.default
        let names =
            ((try? files.contentsOfDirectory(atPath: root.path)) ?? [])
            + ((try? files.contentsOfDirectory(atPath: root.path + "/docs")) ?? []).map { "docs/" + $0 }
        return names.filter { $0.hasSuffix(".md") }.sorted().compactMap { name in
            (try? String(contentsOf: root.appendingPathComponent(name), encoding: .utf8)).map { Page(name: name, $0) }
        }
    }()
}
