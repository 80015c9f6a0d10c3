import Foundation
import Testing

/// Holds docs/BOUNDS.md against the tree: its tests, and the values that it says the bounds have.
@Suite struct BoundsDocumentTests {
    static let read = Result {
        let path = ConformanceTests.root.appendingPathComponent("docs/BOUNDS.md")
        return (
            BoundsTable(try String(contentsOf: path, encoding: .utf8)), try TestCatalogue(of: ConformanceTests.root),
            try ConstantCatalogue(of: ConformanceTests.root)
        )
    }

    let table: BoundsTable
    let catalogue: TestCatalogue
    let constants: ConstantCatalogue

    init() throws { (table, catalogue, constants) = try Self.read.get() }

    @Test("Each bound of the table of bounds names tests that are there")
    func cover() {
        #expect(table.rows.count > 60, "the table was read")
        let names = Set(catalogue.entries.map(\.name))
        for row in table.rows {
            switch row.cover {
            case .tests(let tests):
                for test in tests { #expect(names.contains(test), "\(row.subject): there is no test \(test)") }
            case .reason(let cell), .malformed(let cell): Issue.record("\(row.subject): \(cell)")
            }
        }
    }

    @Test("Each test that the table of bounds names is listed with its title, which no other test has")
    func titles() { expectTitles(of: table.document, naming: table.rows.flatMap(\.tests), in: catalogue) }

    @Test("Each bound has the value in the sources that the table says")
    func values() {
        for row in table.rows {
            guard let constant = row.constant else { continue }
            #expect(constants.values[constant] == row.number.map { [$0] }, "\(constant)")
        }
    }

    /// A bound that is new, or renamed, is not forgotten here: what has the name of one is a row, or is said to be none.
    /// The drills and the radio are no part of a lock or a key; of the radio, the table has what its clients can fill.
    @Test("Each constant with the name of a bound stands in the table of bounds")
    func complete() throws {
        let ours = try ConstantCatalogue(of: ConformanceTests.root, without: ["Drills", "VirtualRadio"])
        let bounds = ours.values.keys.filter { $0.contains(/\.\w*([mM]aximum|[cC]apacity|[tT]imeout)/) }
        #expect(bounds.count > 50, "the sources were read")
        for bound in bounds.sorted() { #expect(table.mentions(bound), "\(bound)") }
    }

    @Test("The catalogue of constants reads a sum, a product, a shift, a computed one, and no text")
    func constantsRead() {
        let source = """
            package struct Outer: Sendable {
                /// 64 * 1024
                package static let sumOctets: Int = 4 + 0xFF_FF
                private enum Inner {
                    static let productOctets = 256 * 1024
                    static let name = "4"
                }
                static let shifted = 1 << 20
                let stored = 7
            }
            extension Ring.Element {
                private static var thresholdCount: Int { 32 }
                static let other = Self(rawValue: 3)
            }
            """
        let expected: [String: Set<Int>] = [
            "Outer.sumOctets": [65_539], "Inner.productOctets": [262_144], "Outer.shifted": [1_048_576],
            "Ring.thresholdCount": [32],
        ]
        #expect(ConstantCatalogue(source: source).values == expected)
    }
}
