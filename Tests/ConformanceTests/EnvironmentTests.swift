import Foundation
import Testing

/// The variables of the environment that programs and scripts read, or hand to programs of the operator, are those that the pages tell,
/// and the other way round.
@Suite("Variables of the environment")
struct EnvironmentTests {
    /// In C they are constants of ours.
    private static let prefix = "LATCH_"

    private static func names(in text: String) -> Set<String> {
        Set(
            text.components(separatedBy: prefix).dropFirst().map { rest in
                prefix + rest.prefix { $0.isUppercase && $0.isASCII || $0 == "_" }
            })
    }

    /// What a page names, but for the conditions of the compiler.
    private static func documented(_ page: Page) -> Set<String> {
        names(in: page.lines.joined(separator: "\n").replacing("-D" + prefix, with: ""))
    }

    /// Variables as they are read: `"LATCH_X"` in Swift and in Python, `LATCH_X=` and `$LATCH_X` in scripts; or handed over, `"LATCH_X=`. A condition of
    /// the compiler (`-DLATCH_X`, `#if LATCH_X`) is none.
    static func read(by source: String) -> Set<String> {
        names(in: source).filter { name in
            ["\"\(name)\"", "\"\(name)=", "$\(name)", "${\(name)", " \(name)=", "\n\(name)="].contains(
                where: source.contains)
        }
    }

    private static func sources() throws -> [String] {
        let tree = try ProjectTree.read.get()
        let isRead: (String) -> Bool = { path in
            path == "Package.swift" || path.hasSuffix(".py")
                || path.hasSuffix(".swift") && !path.hasPrefix("Tests/ConformanceTests/")
                || (path.hasPrefix("scripts/") || path.hasPrefix(".ci/")) && !path.hasSuffix(".sqlite3")
        }
        return tree.paths.filter(isRead).compactMap {
            try? String(contentsOf: ConformanceTests.root.appendingPathComponent($0), encoding: .utf8)
        }
    }

    @Test("Every variable that a page names is read somewhere, and every one that is read stands on a page")
    func variables() throws {
        let read = try Self.sources().reduce(into: Set<String>()) { $0.formUnion(Self.read(by: $1)) }
        #expect(read.count > 8, "the sources were read")
        let documented = (Page.all + Page.articles).reduce(into: Set<String>()) {
            $0.formUnion(Self.documented($1))
        }
        #expect(documented.subtracting(read) == [], "named, and not read")
        #expect(read.subtracting(documented) == [], "read, and not named")
    }

    @Test("A variable is found where it is read, and a condition of the compiler is none")
    func found() {
        let source = """
            getenv("LATCH_ONE")
            #if LATCH_TWO
            time LATCH_THREE=$x "$LATCH_FOUR" ${LATCH_FIVE:-1}
            swift build -DLATCH_SIX
            LATCH_SEVEN=1 swift build
            environment = ["LATCH_EIGHT=1"]
            """
        #expect(
            Self.read(by: source) == [
                "LATCH_ONE", "LATCH_THREE", "LATCH_FOUR", "LATCH_FIVE", "LATCH_SEVEN", "LATCH_EIGHT",
            ])
    }
}
