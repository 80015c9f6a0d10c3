import Foundation
import Testing

/// docs/THREAT-MODEL.md, held to the tests: a promise that no test shows is none.
@Suite("The threat model, held to the tests")
struct ThreatModelTests {
    private static let promises = "What is promised"
    private static let tables = [
        "Assets", "Where they are stored", "How they are destroyed",
        "What a key with a program's key takes from its link",
    ]
    private static let backends = "Attacks, and both backends"
    /// Whose tests are the attacks on one backend, each of which stands in that table.
    private static let backendSuite = "SharedAdapterAttackTests"
    /// What stands at a row's end where the code answers nothing.
    private static let reasons = ["not claimed: "]

    /// A bullet, as one line.
    struct Bullet: Equatable {
        /// In bold, at its begin.
        var sentence: String?
        /// `Suite.function`
        var tests: [String]
    }

    private let page: String
    private let names: Set<String>

    init() throws {
        let path = ConformanceTests.root.appendingPathComponent("docs/THREAT-MODEL.md")
        page = try String(contentsOf: path, encoding: .utf8)
        names = Set(try TestCatalogue(of: ConformanceTests.root).entries.map(\.name))
    }

    /// Between a heading of any depth and the next one that is as high or higher.
    private static func section(_ heading: String, of page: String) -> [String]? {
        let lines = page.components(separatedBy: "\n")
        guard let start = lines.firstIndex(where: { $0.wholeMatch(of: /#+ (.*)/)?.1 == heading[...] }) else {
            return nil
        }
        let depth = lines[start].prefix { $0 == "#" }.count
        let rest = lines[(start + 1)...]
        let end = rest.firstIndex { line in
            let marks = line.prefix { $0 == "#" }.count
            return (1...depth).contains(marks)
        }
        return Array(rest[..<(end ?? rest.endIndex)])
    }

    private static func bullets(_ lines: [String]) -> [Bullet] {
        var texts: [String] = []
        var isOpen = false
        for line in lines {
            if line.hasPrefix("- ") {
                texts.append(String(line.dropFirst(2)))
                isOpen = true
            } else if line.hasPrefix("  "), isOpen {
                texts[texts.count - 1] += " " + line.drop { $0 == " " }
            } else {
                isOpen = false
            }
        }
        return texts.map { text in
            Bullet(
                sentence: text.prefixMatch(of: /\*\*([^*]+)\.\*\*/).map { String($0.1) },
                tests: text.matches(of: /`(\w+Tests\.\w+)`/).map { String($0.1) })
        }
    }

    @Test("Each promise begins with its sentence, and names tests that are there")
    func promised() throws {
        let bullets = Self.bullets(try #require(Self.section(Self.promises, of: page)))
        #expect(bullets.count > 25, "the page was read")
        #expect(Set(bullets.map(\.sentence)).count == bullets.count, "no sentence stands twice")
        for bullet in bullets {
            let sentence = try #require(bullet.sentence, "a promise without its sentence: \(bullet.tests)")
            #expect(!bullet.tests.isEmpty, "\(sentence): no test shows it")
            for test in bullet.tests { #expect(names.contains(test), "\(sentence): there is no test \(test)") }
        }
    }

    @Test("Each asset, store and way of destruction ends with its tests, or says that nothing is claimed")
    func assets() throws {
        for heading in Self.tables {
            let section = try #require(Self.section(heading, of: page), "\(heading)")
            let rows = TestTable(section.joined(separator: "\n")).rows
            #expect(rows.count > 4, "\(heading): the table was read")
            for row in rows {
                switch TestTable.cover(row.last ?? "", reasons: Self.reasons) {
                case .tests(let tests):
                    for test in tests { #expect(names.contains(test), "\(row[0]): there is no test \(test)") }
                case .reason: break
                case .malformed(let cell): Issue.record("\(row[0]): \(cell)")
                }
            }
        }
    }

    @Test(
        "Each attack has its tests on both backends, or the reason why there is none, and no test of the suite is left out"
    )
    func backends() throws {
        let section = try #require(Self.section(Self.backends, of: page))
        let rows = TestTable(section.joined(separator: "\n")).rows
        #expect(rows.count > 4, "the table was read")
        var named: Set<String> = []
        for row in rows {
            #expect(row.count == 3, "\(row)")
            for cell in row.dropFirst() {
                switch TestTable.cover(cell, reasons: Self.reasons) {
                case .tests(let tests):
                    named.formUnion(tests)
                    for test in tests { #expect(names.contains(test), "\(row[0]): there is no test \(test)") }
                case .reason: break
                case .malformed(let cell): Issue.record("\(row[0]): \(cell)")
                }
            }
        }
        // What obeys is no attack.
        let left = names.filter { $0.hasPrefix(Self.backendSuite + ".") && !named.contains($0) }
        #expect(left == [Self.backendSuite + ".lockItself"])
    }

    @Test("A promise is read over its lines, and one without a sentence or a test is found")
    func reading() throws {
        let page = """
            # Page
            ## What is promised
            Words.
            ### One
            - **The bolt stays.** As long as
              `BoltTests.stays` says (`BoltTests.holds`).
            - The bolt stays, **always.** `Bolt.stays`

            ### Two
            - **Nobody is told.** See `PROTOCOL.md`.
            And this is no bullet: `BoltTests.none`.
            ## What is not claimed
            - **This.** `BoltTests.never`
            """
        #expect(
            Self.bullets(try #require(Self.section("What is promised", of: page))) == [
                Bullet(sentence: "The bolt stays", tests: ["BoltTests.stays", "BoltTests.holds"]),
                Bullet(sentence: nil, tests: []), Bullet(sentence: "Nobody is told", tests: []),
            ])
        #expect(Self.section("One", of: page)?.count == 4)
        #expect(Self.section("Three", of: page) == nil)
    }
}
