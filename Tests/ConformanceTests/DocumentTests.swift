import Foundation
import Testing

/// What the pages say that can be held to the tree, each kind by one test.
@Suite("The documentation, held to the tree")
struct DocumentTests {
    let tree: ProjectTree

    init() throws { tree = try ProjectTree.read.get() }

    /// Apple's, which a page tells that there are none here; and what stands for any name.
    static let foreign: Set<String> = ["Stream.getBoundStreams", "Suite.function"]

    @Test("Every path that a page names is there", arguments: Page.all + Page.articles)
    func paths(page: Page) {
        let beginnings = ProjectTree.folders.map { $0 + "/" }
        let endings = [".swift", ".md", ".py", ".conf", ".rules", ".sqlite3"]
        let links = Set(page.links)
        for word in page.words where !word.contains("TARGET") && !links.contains(word) {
            if beginnings.contains(where: word.hasPrefix) {
                let isThere = tree.has(path: word)
                #expect(isThere, "\(page.name): \(word)")
            } else if endings.contains(where: word.hasSuffix), word.first != "/", word.first != "~",
                !word.contains("://")
            {
                // Within a section about a folder, the folder may be left out.
                let isThere = tree.has(ending: word)
                #expect(isThere, "\(page.name): \(word)")
            }
        }
    }

    @Test("Every link within the project leads to a page, and to a heading where it names one", arguments: Page.all)
    func links(page: Page) throws {
        let folder = page.name.contains("/") ? "docs/" : ""
        for link in page.links {
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
            var path = parts[0].isEmpty ? page.name[...] : folder + parts[0]
            if path.hasPrefix("docs/../") { path = path.dropFirst("docs/../".count) }
            #expect(tree.has(path: path), "\(page.name): \(link)")
            if parts.count > 1 {
                let target = try #require(Page.all.first { $0.name == path }, "\(page.name): \(link)")
                #expect(target.anchors.contains(String(parts[1])), "\(page.name): \(link)")
            }
        }
    }

    @Test("README and the guide to the rooms leave no page out")
    func pages() throws {
        let readme = try #require(Page.all.first { $0.name == "README.md" })
        let linked = Set(readme.links.map(String.init))
        #expect(Page.all.count > 15, "the pages were read")
        for page in Page.all where page.name != "README.md" { #expect(linked.contains(page.name), "\(page.name)") }
    }

    @Test("Every test that a page names is there", arguments: Page.all)
    func tests(page: Page) {
        for word in page.words {
            guard let name = word.wholeMatch(of: /(\w+Tests)(?:\.(\w+))?(?:\/(\w+))?/) else { continue }
            let (suite, function) = (name.1, name.2 ?? name.3)
            #expect(tree.tests[suite] != nil || tree.has(path: "Tests/" + suite), "\(page.name): \(word)")
            if let function, function != "swift" {
                #expect(tree.tests[suite]?.contains(function) == true, "\(page.name): \(word)")
            }
        }
    }

    /// The list of Apple's symbols also has those that are not here: scripts/check-symbols holds it to the product.
    private static let own = Page.all.filter { $0.name != "docs/SYMBOLS.md" }

    @Test("Every type, member and constant that a page names is in the sources", arguments: own)
    func symbols(page: Page) {
        for span in page.spans where !Self.foreign.contains(span) {
            if let name = span.wholeMatch(of: /([A-Z]\w+)\.([a-z]\w*)(?:\(.*\))?/), name.2 != "swift", name.2 != "md" {
                #expect(tree.knows(type: name.1, member: name.2), "\(page.name): \(span)")
            } else if span.wholeMatch(of: /[A-Z]\w*[a-z]\w*[A-Z]\w*/) != nil {
                #expect(tree.identifiers.contains(span[...]) || tree.names.contains(span[...]), "\(page.name): \(span)")
            }
        }
    }

    @Test("The tree finds a path, a pattern, the members of a type and of its extension, and nothing else")
    func lookups() {
        let tree = ProjectTree(
            paths: ["docs", "docs/A.md", "docs/B.md", "Tests/X", "Tests/X/Y.swift"],
            sources: [
                ("Sources/A.swift", "struct Lock { let bolt = 1 }"),
                ("Sources/B.swift", "extension Lock { func open() {} }"),
                ("Tests/X/Y.swift", "@Suite struct LockTests { @Test func opens() {} }"),
            ])
        for path in ["docs/", "docs/A.md", "docs/*.md", "docs/{A,B}.md", "Tests/X/Y.swift"] as [Substring] {
            #expect(tree.has(path: path), "\(path)")
        }
        for path in ["docs/C.md", "docs/*.txt", "docs/{A,C}.md", "Y.swift", ""] as [Substring] {
            #expect(!tree.has(path: path), "\(path)")
        }
        #expect(tree.has(ending: "Y.swift") && tree.has(ending: "X/Y.swift") && !tree.has(ending: "Z/Y.swift"))
        #expect(tree.knows(type: "Lock", member: "bolt") && tree.knows(type: "Lock", member: "open"))
        #expect(!tree.knows(type: "Lock", member: "opens") && !tree.knows(type: "Bolt", member: "bolt"))
        #expect(tree.tests == ["LockTests": ["opens"]])
    }

    @Test("A page is read: spans over two lines, blocks of code, links, anchors")
    func reading() {
        let page = Page(
            name: "docs/X.md",
            """
            # The way, of an octet
            See [this](Y.md#top) and `one
            two`, `three`.
            ```
            $ `four`
            ```
                five

            ## `Six_7`-b
            [that](https://example.org/z)
            """)
        #expect(page.spans == ["one two", "three", "Six_7"])
        #expect(page.code == ["$ `four`", "    five"])
        #expect(page.links == ["Y.md#top"])
        #expect(page.anchors == ["the-way-of-an-octet", "six_7-b"])
        #expect(page.words.contains("three") && page.words.contains("octet"))
    }
}
