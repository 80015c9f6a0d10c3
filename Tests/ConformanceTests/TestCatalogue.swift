import Foundation

/// Every test of the tree that a table can name: its suite's type, its function, and the title that the runner prints.
struct TestCatalogue {
    struct Entry: Hashable {
        /// `Suite.function`
        let name: String
        let title: String
    }

    let entries: [Entry]

    /// Reads the sources as their formatter leaves them: a suite begins its line, a test is `@Test("…"` before `func`.
    init(of root: URL) throws {
        let tests = root.appendingPathComponent("Tests")
        // This folder holds sources that are only text.
        let paths = try FileManager.default.subpathsOfDirectory(atPath: tests.path)
            .filter { $0.hasSuffix(".swift") && !$0.hasPrefix("ConformanceTests/") }
        entries = try paths.sorted().flatMap { path in
            Self.entries(in: try String(contentsOf: tests.appendingPathComponent(path), encoding: .utf8))
        }
    }

    static func entries(in source: String) -> [Entry] {
        var found: [Entry] = []
        var suite: Substring = ""
        var attribute: String?
        for line in source.split(separator: "\n") {
            if line.first != " ",
                let match = line.firstMatch(
                    of: /^(?:@Suite.*? )?(?:final )?(?:struct|class|enum|actor|extension) (\w+)/)
            {
                suite = match.1
            }
            if line.drop(while: { $0 == " " }).hasPrefix("@Test") { attribute = "" }
            guard let text = attribute else { continue }
            if let match = line.firstMatch(of: /\bfunc (\w+)/) {
                if let title = text.firstMatch(of: /^ *@Test\( *"((?:[^"\\]|\\.)*)"/) {
                    found.append(Entry(name: "\(suite).\(match.1)", title: String(title.1)))
                }
                attribute = nil
            } else {
                attribute = text + line
            }
        }
        return found
    }
}
