import Drills
import Simulation

/// Simulated schedules as one page. Well-formed as XML too.
struct SimulationPage {
    let result: SimulationResult
    let chronicle: Chronicle

    private static let binMilliseconds: UInt64 = 5
    private static let bins = 24

    var text: String {
        let verdict = result.violation == nil ? "Every promise held" : "A promise was broken"
        let body = """
            <h1>Latch drill, simulated <span class="\(result.violation == nil ? "ok" : "bad")">\(verdict)</span></h1>
            <p>The lock's and the keys' daemons with the whole host stack and their databases in one process, under a virtual clock.
            In each schedule somebody gives a command, something goes wrong, and afterwards the lock has to obey. Seed
            \(result.seed)\(result.isInterrupted ? ", interrupted" : "").</p>
            \(figures)
            \(broken)
            <h2>\(result.violation == nil ? "One of them: the first" : "The last of them")</h2>
            \(StoryDrawing(chronicle: chronicle).text)
            \(story)
            <h2>What went wrong</h2>
            \(HTMLReport.table(["fault", "schedules"], faults))
            <h2>Where processes were killed</h2>
            \(KillPointDrawing(points: result.tally.points).text)
            <h2>How long a lock took to be on the air again</h2>
            <p>\(result.restore.p50) ms (p50), \(result.restore.p99) ms (p99), \(result.restore.max) ms (max) of virtual time, from
            the beginning of its process.</p>
            \(BarChart(
                title: "Restores by their length", counts: result.tally.restoreMilliseconds,
                binMilliseconds: Self.binMilliseconds, bins: Self.bins
            ).text)
            """
        return HTMLReport.page(title: "Latch drill, simulated, seed \(result.seed): \(verdict)", body: body)
    }

    private var story: String {
        HTMLReport.table(
            ["at, ms", "who", "what"], chronicle.entries.map { ["\($0.milliseconds)", $0.lane.title, $0.text] })
    }

    private var figures: String {
        let tally = result.tally
        return HTMLReport.figures([
            ("schedules", "\(tally.schedules)"), ("violations", result.violation == nil ? "0" : "1"),
            ("ends of locks", "\(tally.ends[.lock] ?? 0)"), ("ends of keys", "\(tally.ends[.key] ?? 0)"),
            ("restores", "\(tally.restores)"), ("kill points", "\(tally.points.count)"),
            ("events of a schedule", "\(tally.events / max(1, tally.schedules))"),
            ("virtual hours", "\(tally.virtualMilliseconds / 3_600_000)"),
            ("a second", "\(result.perSecond)"), ("a second of one processor", "\(result.perProcessorSecond)"),
        ])
    }

    private var broken: String {
        guard let violation = result.violation else { return "" }
        let rows = violation.broken.map { ["broken", $0] } + violation.schedules.map { ["by", "\($0)"] }
        return "<h2>Broken</h2>"
            + HTMLReport.table(["", "what"], rows + [["again with", SimulationResult.again(violation)]])
    }

    private var faults: [[String]] {
        result.tally.faults.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { [$0.key, "\($0.value)"] }
    }
}
