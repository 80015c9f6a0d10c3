import Foundation
import Testing

/// Each Swift sample on a page is a whole file of Tests/DocumentationSamples, which is compiled. A comment before the sample
/// names the file.
@Suite("Samples of the documentation")
struct SampleTests {
    private static let folder = "Tests/DocumentationSamples/"

    /// A sample on a page.
    struct Sample: Equatable {
        /// nil when no comment says which file it is.
        let path: String?
        let text: String
    }

    static func samples(on page: Page) -> [Sample] {
        page.lines.indices.filter { page.lines[$0] == "```swift" }.map { fence in
            let comment = fence > 0 ? page.lines[fence - 1].wholeMatch(of: /<!-- (\S+) -->/) : nil
            let text = page.lines[(fence + 1)...].prefix { $0 != "```" }
            return Sample(path: comment.map { String($0.1) }, text: text.joined(separator: "\n") + "\n")
        }
    }

    @Test("A sample is the file that its page names", arguments: Page.all + Page.articles)
    func files(page: Page) throws {
        for sample in Self.samples(on: page) {
            let path = try #require(sample.path, "\(page.name): a comment with the file's name belongs before a sample")
            #expect(path.hasPrefix(Self.folder), "\(page.name)")
            let file = try String(contentsOf: ConformanceTests.root.appendingPathComponent(path), encoding: .utf8)
            #expect(sample.text == file, "\(page.name) does not show \(path) as it is")
        }
    }

    @Test("Every sample file is on a page, and an app imports nothing but CoreBluetooth")
    func shown() throws {
        let files = try ProjectTree.read.get().paths.filter { $0.hasPrefix(Self.folder) && $0.hasSuffix(".swift") }
        let shown = Set((Page.all + Page.articles).flatMap(Self.samples).compactMap(\.path))
        #expect(files == shown)
        #expect(shown.count > 8, "the pages were read")
        for file in files where !file.hasSuffix("Package.swift") {
            let text = try String(contentsOf: ConformanceTests.root.appendingPathComponent(file), encoding: .utf8)
            let imports = text.components(separatedBy: "\n").filter { $0.contains("import ") }
            #expect(imports == ["import CoreBluetooth"], "\(file)")
        }
    }

    @Test("Samples are found with their file and without")
    func found() {
        let page = Page(
            name: "X.md",
            """
            <!-- A/B.swift -->
            ```swift
            let a = 1

            let b = 2
            ```
            ```
            $ swift
            ```
            Prose.
            ```swift
            let c = 3
            ```
            """)
        let expected = [
            Sample(path: "A/B.swift", text: "let a = 1\n\nlet b = 2\n"), Sample(path: nil, text: "let c = 3\n"),
        ]
        #expect(Self.samples(on: page) == expected)
    }
}
