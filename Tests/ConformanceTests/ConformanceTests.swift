import Foundation
import Testing

/// Holds docs/CONFORMANCE.md against the tree. That each test it names has run is for scripts/check-conformance to say.
@Suite struct ConformanceTests {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Read once for all tests.
    static let read = Result {
        let path = root.appendingPathComponent("docs/CONFORMANCE.md")
        return (ConformanceTable(try String(contentsOf: path, encoding: .utf8)), try TestCatalogue(of: root))
    }

    let table: ConformanceTable
    let catalogue: TestCatalogue

    init() throws { (table, catalogue) = try Self.read.get() }

    @Test("Each id of the conformance table is well formed and stands there once")
    func ids() {
        #expect(table.rows.count > 100, "the table was read")
        for row in table.rows { #expect(ConformanceTable.isWellFormed(row.id), "\(row.id)") }
        let repeated = Dictionary(grouping: table.rows, by: \.id).filter { $0.value.count > 1 }
        #expect(repeated.isEmpty, "\(repeated.keys.sorted())")
    }

    @Test("Each row of the conformance table names tests that are there, or says why there is none")
    func cover() {
        let names = Set(catalogue.entries.map(\.name))
        for row in table.rows {
            switch row.cover {
            case .tests(let tests):
                for test in tests { #expect(names.contains(test), "\(row.id): there is no test \(test)") }
            case .reason: continue
            case .malformed(let cell): Issue.record("\(row.id): \(cell)")
            }
        }
    }

    @Test("Each test that the conformance table names is listed with its title, which no other test has")
    func titles() { expectTitles(of: table.document, naming: table.rows.flatMap(\.tests), in: catalogue) }

    @Test("Ids that are none, and cells that name nothing, are found")
    func malformed() {
        for id in [
            "", "GATT/SR/GAR/BV-1-C", "GATT/SR/GAR/BV-01", "gatt/SR/GAR/BV-01-C", "GATT/BV-01-C ", "MESH/A/BV-01-C",
        ] {
            #expect(!ConformanceTable.isWellFormed(id), "\(id)")
        }
        for cell in ["", "not yet: ", "not yet", "`A.b` `C.d`", "A.b", "`A`", "`A.b`, soon"] {
            #expect(TestTable.cover(cell, reasons: ConformanceTable.reasons) == .malformed(cell))
        }
        #expect(TestTable.cover("`A.b`, `C.d`") == .tests(["A.b", "C.d"]))
        #expect(TestTable.cover("not yet: EATT", reasons: ConformanceTable.reasons) == .reason("not yet: EATT"))
        #expect(TestTable.cover("not yet: EATT") == .malformed("not yet: EATT"))
    }

    @Test("The catalogue reads a title on its own line, a suite without title, and no test without title")
    func catalogued() {
        let source = """
            @Suite("x") struct FirstTests {
                @Test("one, \\"two\\"", arguments: [1])
                func a(_ x: Int) {}
                @Test
                func untitled() {}
                func helper() {}
            }
            @Suite
            struct SecondTests {
                @Test(
                    "three",
                    arguments: ["four"])
                func b(_ x: String) {}
            }
            """
        let expected = [
            TestCatalogue.Entry(name: "FirstTests.a", title: #"one, \"two\""#),
            TestCatalogue.Entry(name: "SecondTests.b", title: "three"),
        ]
        #expect(TestCatalogue.entries(in: source) == expected)
    }
}

/// The runner prints a title and no suite, so that a title which is to prove something belongs to one test.
func expectTitles(of document: TestTable, naming tests: [String], in catalogue: TestCatalogue) {
    let named = Set(tests)
    #expect(Set(document.titles.map(\.name)) == named)
    #expect(document.titles.count == named.count)
    for (name, title) in document.titles {
        let owners = catalogue.entries.filter { $0.title == title }.map(\.name)
        #expect(owners == [name], "\(title)")
    }
}
