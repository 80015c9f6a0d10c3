import Testing

/// docs/HACKING.md leads a newcomer from file to file: everything that it names is there.
@Suite("docs/HACKING.md")
struct HackingGuideTests {
    let tree: ProjectTree
    let page: Page

    init() throws {
        tree = try ProjectTree.read.get()
        page = try #require(Page.all.first { $0.name == "docs/HACKING.md" })
    }

    /// Other people's programs and their options, a section of a configuration file, and what only a run leaves.
    static let foreign: Set<Substring> = [
        "btmon", "strace", "-minimize_crash=1", "[log]", "air.btsnoop", "report/index.html",
        "Target.Suite/function",
    ]

    /// Whether the first word of a span is a path, a script, a target of the fuzzer, an identifier or a member of a type.
    static func isThere(_ span: String, in tree: ProjectTree) -> Bool {
        guard let word = span.split(separator: " ").first, !foreign.contains(word) else { return true }
        // `EnvironmentTests` has the variables.
        if word.hasPrefix(".build/") || word.contains("TARGET") || word.hasPrefix("LATCH_") { return true }
        if word.contains("/") || word.contains(".") && tree.names.contains(word) { return tree.has(path: word) }
        if let name = word.wholeMatch(of: /([A-Z]\w+)\.([a-z]\w*)/) { return tree.knows(type: name.1, member: name.2) }
        // A variable with its value, an option, a condition of the compiler, a function with its labels.
        let bare = word.prefix { $0 != "=" && $0 != "(" && $0 != "…" }.drop { $0 == "-" }
        let condition = bare.hasPrefix("DLATCH_") ? bare.dropFirst() : bare
        return tree.identifiers.contains(condition) || tree.names.contains(condition)
    }

    @Test("Every file, script, suite, type and function that the guide names exists")
    func names() {
        #expect(page.spans.count > 80, "the guide was read")
        for span in page.spans { #expect(Self.isThere(span, in: tree), "\(span)") }
    }

    @Test("Every script that the guide runs exists")
    func scripts() {
        let scripts = page.words.filter { $0.hasPrefix("scripts/") || $0.hasPrefix(".ci/") }
        #expect(scripts.count > 8, "the guide was read")
        for script in scripts { #expect(tree.has(path: script), "\(script)") }
    }

    @Test(
        "The guide is linked from where newcomers begin",
        arguments: ["README.md", "CONTRIBUTING.md", "docs/ARCHITECTURE.md"])
    func linked(name: String) throws {
        let page = try #require(Page.all.first { $0.name == name })
        #expect(page.links.contains { $0.hasSuffix("HACKING.md") })
    }

    @Test("A name that is nowhere is found, of each kind")
    func missing() {
        let tree = ProjectTree(
            paths: ["scripts/test", "Fuzz/Seeds/host", "Package.swift"],
            sources: [("Sources/A.swift", "struct Lock { func open(at now: Int) {} }")])
        for span in ["scripts/test X", "host", "Package.swift", "Lock", "Lock.open", "open(at:)", "strace", "--now 1"] {
            #expect(Self.isThere(span, in: tree), "\(span)")
        }
        for span in ["scripts/tset X", "guest", "Sources/B.swift", "Bolt", "Lock.close", "close(at:)", "--later 1"] {
            #expect(!Self.isThere(span, in: tree), "\(span)")
        }
    }
}
