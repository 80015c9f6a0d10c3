/// A drill at every system call as one page: figures, promises, how long restores took, which calls were reached, and what
/// comes back to each failure. Well-formed as XML too.
struct CallReport {
    let tally: CallTally

    private static let binMilliseconds: UInt64 = 10
    private static let maximumBins = 40

    var text: String {
        let verdict = tally.isOK ? "Every promise held" : "\(tally.violated.count) kills broke a promise"
        let body = """
            <h1>Latch drill at every system call <span class="\(tally.isOK ? "ok" : "bad")">\(verdict)</span></h1>
            <p>A lock and a key live one short life: they begin, an unlock is asked for and carried out, the relock falls due, they end.
            In each life one of them is killed with SIGKILL at one system call, and started again. Seed \(tally.seed).</p>
            \(figures)
            <h2>Promises</h2>
            \(promises)
            \(failures)
            \(Role.allCases.map(section).joined(separator: "\n"))
            """
        return HTMLReport.page(title: "Latch drill at every system call, seed \(tally.seed): \(verdict)", body: body)
    }

    private var figures: String {
        var cells = [
            ("cases", "\(tally.results.count)"), ("kills", "\(tally.killed.count)"),
            ("beyond the end", "\(tally.beyond)"), ("violated", "\(tally.violated.count)"),
        ]
        for role in Role.allCases {
            guard let count = tally.counts[role] else { continue }
            cells.append(("calls of a \(role.rawValue)'s life", "\(count)"))
        }
        return HTMLReport.figures(cells)
    }

    private var promises: String {
        let rows = CasePromise.allCases.map { promise in
            let broken = tally.violated.count { result in
                result.violations.contains { $0.hasPrefix(promise.text + ":") }
            }
            return [broken == 0 ? "held" : "broken \(broken) times", promise.text]
        }
        return HTMLReport.table(["verdict", "promise"], rows)
    }

    private var failures: String {
        guard !tally.isOK else { return "" }
        let rows = tally.violated.flatMap { result in
            result.violations.map {
                [
                    result.point.role.rawValue, "\(result.point.number)", result.call ?? "", $0,
                    result.point.replay(seed: tally.seed, plant: tally.plant),
                ]
            }
        }
        return "<h2>Broken</h2>" + HTMLReport.table(["who", "call", "name", "what", "again with"], rows)
    }

    private func section(_ role: Role) -> String {
        guard tally.results.contains(where: { $0.point.role == role }) else { return "" }
        let rows = tally.killsByCall(role).map { [$0.name, "\($0.count)"] }
        let restore = Tally.Restore(tally.restoreMilliseconds(role))
        return """
            <h2>The \(role.rawValue): how long it took to come back</h2>
            <p>\(restore.p50) ms (p50), \(restore.p99) ms (p99), \(restore.max) ms (max), from its start to its answer.</p>
            \(histogram(tally.restoreMilliseconds(role)))
            <h2>The \(role.rawValue): kills by system call</h2>
            \(HTMLReport.table(["call", "kills"], rows))
            """
    }

    /// How many restores took up to 10, 20, 30 … ms; the last bar has all that took longer.
    private func histogram(_ milliseconds: [UInt64]) -> String {
        var bins: [Int] = []
        for value in milliseconds {
            let bin = min(Int(value / Self.binMilliseconds), Self.maximumBins - 1)
            while bins.count <= bin { bins.append(0) }
            bins[bin] += 1
        }
        let bars = bins.enumerated().map { index, count in
            let isRest = index == Self.maximumBins - 1
            let label = "\(isRest ? "from" : "under") \(Self.binMilliseconds * UInt64(isRest ? index : index + 1)) ms"
            return BarChart.Bar(label: label, count: count)
        }
        return BarChart(title: "Restores by their length", bars: bars).text
    }
}
