import CoreBluetooth
import Testing

/// Each scenario of docs/CALLBACKS.md is played by two apps on the virtual radio, each on a host and a thread of its
/// own. All that their delegates hear, from the launch on, is compared with the page's tables.
@Suite("docs/CALLBACKS.md", .serialized, .timeLimit(.minutes(30)))
struct CallbackPageTests {
    private static let scripts = CentralScripts.all.merging(PeripheralScripts.all) { first, _ in first }

    @Test("The page and the scripts have the same scenarios, and each goes on from one that is there")
    func scenarios() throws {
        let page = try CallbackPage.read()
        #expect(Self.scripts.count == CentralScripts.all.count + PeripheralScripts.all.count)
        #expect(page.scenarios.map(\.name).sorted() == Self.scripts.keys.sorted())
        for scenario in page.scenarios {
            #expect(!scenario.central.isEmpty || !scenario.peripheral.isEmpty, "\(scenario.name)")
            if let after = scenario.after { #expect(page[after] != nil, "\(scenario.name) after \(after)") }
        }
    }

    @Test("What both apps hear is what the tables say", arguments: scripts.keys.sorted())
    func played(name: String) async throws {
        let page = try CallbackPage.read()
        let way = page.way(to: name)
        let stage = try await CallbackStage(withRadio: way.first?.name != "Launch without an adapter")
        for index in way.indices {
            let script = try #require(Self.scripts[way[index].name])
            try await script(stage)
            try await compare(stage.visitor.record, way[...index].map(\.central), stage, "\(name): the central's app")
            try await compare(
                stage.door.record, way[...index].map(\.peripheral), stage, "\(name): the peripheral's app")
        }
    }

    private func compare(
        _ record: CallbackRecord, _ tables: [[CallbackRow]], _ stage: CallbackStage, _ who: String
    ) async throws {
        let steps = CallbackPage.steps(tables)
        let count = steps.reduce(0) { $0 + $1.count }
        await record.wait { $0.count >= count }
        try await stage.settle()
        let difference = CallbackPage.difference(record.heard, from: steps)
        try #require(difference == nil, "\(who)")
    }
}

@Suite("The comparison with a table of docs/CALLBACKS.md")
struct CallbackTableTests {
    private static let page = """
        # Page
        | | callback | times | |
        |---|---|---|---|
        ## Part
        ### First
        The central's app hears:

        | | callback | times | |
        |---|---|---|---|
        | 1 | `state(_:)` | 1 | `on` |

        ### Second
        After [First](#first). Text.

        The central's app hears:

        | | callback | times | |
        |---|---|---|---|
        | 1 | `a(_:)` | 2 | as often as asked |
        | 2 | `b(_:)` | 1 | `x` or so, `y` |
        | 2 | `c(_:)` | 1 | |

        The peripheral's app hears:

        | | callback | times | |
        |---|---|---|---|
        | 1 | `d(_:)` | 1 | |
        ## Another part
        """

    private static func heard(_ names: String) -> [HeardCallback] {
        names.map { name in
            switch name {
            case "s": HeardCallback(callback: "state(_:)", detail: "on")
            case "o": HeardCallback(callback: "state(_:)", detail: "off")
            case "b": HeardCallback(callback: "b(_:)", detail: "x, y")
            default: HeardCallback(callback: "\(name)(_:)", detail: "")
            }
        }
    }

    @Test("the scenarios that lead to one are found, with what each app hears")
    func reading() throws {
        let page = try CallbackPage(Self.page)
        #expect(page.scenarios.map(\.name) == ["First", "Second"])
        #expect(page.way(to: "Second").map(\.name) == ["First", "Second"])
        #expect(page["Second"]?.central.map(\.times) == [2, 1, 1])
        #expect(page["Second"]?.peripheral.map(\.callback) == ["d(_:)"])
        for row in ["| 1 | `a(_:)` | 0 | |", "| 1 | a(_:) | 1 | |", "| x | `a(_:)` | 1 | |", "| 1 | `a(_:)` | 1 |"] {
            #expect(throws: CallbackPage.Malformed.self) { try CallbackPage("\n### Name\n\(row)\n") }
        }
    }

    @Test(
        "rows of one number come in any order, the others in theirs; nothing is missing, doubled, different or beyond",
        arguments: [
            ("saabc", true), ("saacb", true), ("saab", false), ("sabc", false), ("saaabc", false), ("saabbc", false),
            ("asabc", false), ("sabac", false), ("oaabc", false), ("saabcc", false), ("saabcs", false), ("", false),
        ])
    func comparison(heard: String, isRight: Bool) throws {
        let steps = CallbackPage.steps(try CallbackPage(Self.page).way(to: "Second").map(\.central))
        #expect((CallbackPage.difference(Self.heard(heard), from: steps) == nil) == isRight)
    }
}
