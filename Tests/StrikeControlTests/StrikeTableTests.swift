import BluetoothCore
import Foundation
import StrikeControl
import Testing

/// The table of docs/STRIKE.md, each cell played.
@Suite("docs/STRIKE.md: states and inputs")
struct StrikeTableTests {
    private typealias Bench = StrikeBench

    /// The rows' names and how a keeper gets there; the bolt has a sensor, and one further attempt.
    private static let places: [(name: String, bench: @Sendable () -> StrikeBench)] = [
        ("no chip", { bench { $0.handle(.chipGone) } }),
        ("at rest", { bench { _ in } }),
        ("opening", { bench { $0.handle(Bench.order(1, .unlock)) } }),
        ("released", { bench { opened($0) } }),
        ("held", { bench(.hold) { opened($0) } }),
        (
            "closing",
            {
                bench(.hold) {
                    opened($0)
                    $0.handle(Bench.order(2, .lock))
                }
            }
        ),
        (
            "pause",
            {
                bench {
                    $0.handle(Bench.order(1, .unlock))
                    $0.at(1_000)
                }
            }
        ),
        (
            "stuck",
            {
                bench {
                    opened($0)
                    $0.metal = .fails
                    $0.at(3_000)
                }
            }
        ),
    ]

    private static func bench(
        _ drive: StrikeRules.Drive = .pulse, _ prepare: (StrikeBench) -> Void
    ) -> StrikeBench {
        let bench = Bench(StrikeRules(drive: drive, feedback: Bench.feedback), isLocked: true)
        prepare(bench)
        return bench
    }

    private static func opened(_ bench: StrikeBench) {
        bench.handle(Bench.order(1, .unlock))
        bench.handle(.inputs(StrikeInputs(isLocked: false)))
    }

    /// The columns. Time is that which the state waits for.
    private static let inputs: [(name: String, event: @Sendable (StrikeBench) -> StrikeMachine.Event)] = [
        ("lock", { _ in Bench.order(9, .lock) }),
        ("unlock", { _ in Bench.order(9, .unlock) }),
        ("that unlock again", { _ in Bench.order(1, .unlock) }),
        ("bolt in", { _ in .inputs(StrikeInputs(isLocked: false)) }),
        ("bolt out", { _ in .inputs(StrikeInputs(isLocked: true)) }),
        ("exit", { _ in .inputs(StrikeInputs(isLocked: nil, isExit: true)) }),
        ("its time", { _ in .time }),
        ("daemon gone", { _ in .daemon(isThere: false) }),
        ("chip gone", { _ in .chipGone }),
    ]

    private static func cell(_ place: () -> StrikeBench, _ input: (StrikeBench) -> StrikeMachine.Event, _ name: String)
        -> String
    {
        let bench = place()
        if name == "its time" { bench.now = bench.deadline ?? bench.now }
        let words = bench.handle(input(bench)).map(\.word)
        return words.isEmpty ? "–" : words.joined(separator: ", ")
    }

    @Test("Every state × every input, and what is done")
    func table() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/STRIKE.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "\n## ").first { $0.hasPrefix("States and inputs\n") })
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("|") }.map(String.init)
        var played = ["| |" + Self.inputs.map { " \($0.name) |" }.joined()]
        played.append("|" + String(repeating: "---|", count: Self.inputs.count + 1))
        for place in Self.places {
            let cells = Self.inputs.map { " \(Self.cell(place.bench, $0.event, $0.name)) |" }
            played.append("| \(place.name) |" + cells.joined())
        }
        #expect(rows == played, "\(played.joined(separator: "\n"))")
    }
}
