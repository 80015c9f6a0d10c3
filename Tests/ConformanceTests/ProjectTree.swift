import Foundation

/// What a page can name: the project's files, and the identifiers of its Swift sources.
struct ProjectTree {
    /// Paths from the root, of files and of folders.
    let paths: Set<String>
    /// The last components of the same.
    let names: Set<Substring>
    /// Every identifier of any Swift file.
    let identifiers: Set<Substring>
    /// For each type, the identifiers of the files that declare or extend it.
    private let companions: [Substring: Set<Substring>]
    /// For each suite, its functions.
    let tests: [Substring: Set<Substring>]

    /// Read once for all tests.
    static let read = Result { try ProjectTree(of: ConformanceTests.root) }

    static let folders = [
        "Benchmarks", "Examples", "Fuzz", "Sources", "Tests", "config", "docs", "scripts", ".ci",
    ]

    init(of root: URL) throws {
        var paths: Set<String> = []
        var sources: [(path: String, text: String)] = []
        let top = try FileManager.default.contentsOfDirectory(atPath: root.path)
        paths.formUnion(top.filter { $0 != ".build" && $0 != ".git" })
        for folder in Self.folders {
            let inside = try FileManager.default.subpathsOfDirectory(atPath: root.path + "/" + folder)
            paths.formUnion(inside.map { folder + "/" + $0 })
        }
        for path in paths where path.hasSuffix(".swift") {
            sources.append((path, try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)))
        }
        self.init(paths: paths, sources: sources)
    }

    init(paths: Set<String>, sources: [(path: String, text: String)]) {
        var identifiers: Set<Substring> = []
        var companions: [Substring: Set<Substring>] = [:]
        var tests: [Substring: Set<Substring>] = [:]
        for (path, text) in sources {
            let words = Self.words(of: text)
            let here = Set(words)
            identifiers.formUnion(here)
            var type: Substring = ""
            for (word, next) in zip(words, words.dropFirst()) {
                if Self.declaring.contains(word), next.first?.isUppercase == true {
                    companions[next, default: []].formUnion(here)
                    // What a suite declares within itself is none.
                    if path.hasPrefix("Tests/"), next.hasSuffix("Tests") {
                        type = next
                        tests[type] = tests[type] ?? []
                    }
                } else if word == "func", path.hasPrefix("Tests/") {
                    tests[type, default: []].insert(next)
                }
            }
        }
        self.paths = paths
        names = Set(paths.compactMap { $0.split(separator: "/").last })
        self.identifiers = identifiers
        self.companions = companions
        self.tests = tests
    }

    private static let declaring: Set<Substring> = [
        "struct", "class", "enum", "actor", "protocol", "extension", "typealias",
    ]

    /// Letters, digits and underscores. Every file of the project goes through here.
    private static func words(of text: String) -> [Substring] {
        text.utf8.split { octet in
            !(octet >= 0x61 && octet <= 0x7A || octet >= 0x41 && octet <= 0x5A || octet >= 0x30 && octet <= 0x39
                || octet == 0x5F)
        }.map(Substring.init)
    }

    /// Whether `Type.member` is one of the sources: the member's name stands where the type is declared or extended.
    func knows(type: Substring, member: Substring) -> Bool { companions[type]?.contains(member) == true }

    func declares(type: Substring) -> Bool { companions[type] != nil }

    /// Whether a path, with `*` for any name's part and braces for alternatives, leads to something.
    func has(path: Substring) -> Bool {
        if let open = path.firstIndex(of: "{"), let close = path[open...].firstIndex(of: "}") {
            return path[path.index(after: open)..<close].split(separator: ",").allSatisfy {
                has(path: path[..<open] + $0 + path[path.index(after: close)...])
            }
        }
        let path = path.hasSuffix("/") ? path.dropLast() : path
        guard let star = path.firstIndex(of: "*") else { return paths.contains(String(path)) }
        let rest = path[path.index(after: star)...]
        return paths.contains { $0.hasPrefix(path[..<star]) && $0.hasSuffix(rest) }
    }

    /// Whether a path that may begin anywhere is the end of one.
    func has(ending: Substring) -> Bool {
        if !ending.contains("/") { return names.contains(ending) }
        return paths.contains { $0 == ending || $0.hasSuffix("/" + ending) }
    }
}
