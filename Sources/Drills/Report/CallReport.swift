/// A drill at every system call as one page: figures, promises, how long restores took, which calls were reached, and what
/// comes back to each failure. Well-formed as XML too.
struct CallReport {
    let tally: CallTally

    private static let binMilliseconds: UInt64 = 10
    private static let bins = 40

    var text: String {
        let verdict = tally.isOK ? "Every promise held" : "\(tally.violated.count) kills broke a promise"
        let body = """
            <h1>Latch drill at every system call <span class="\(tally.isOK ? "ok" : "bad")">\(verdict)</span></h1>
            <p>A lock and a key live one short life: they begin, an unlock is asked for and carried out, the relock falls due, they end.
            In each life one of them is killed with SIGKILL at one system call, and started again. Seed \(tally.seed).</p>
            \(figures)
            <h2>Promises</h2>
            \(HTMLReport.promises(tally.violated.map(\.violations)))
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
        let milliseconds = tally.restoreMilliseconds(role)
        let restore = Tally.Restore(milliseconds)
        return """
            <h2>The \(role.rawValue): how long it took to come back</h2>
            <p>\(restore.p50) ms (p50), \(restore.p99) ms (p99), \(restore.max) ms (max), from its start to its answer.</p>
            \(BarChart(
                title: "Restores by their length", milliseconds: milliseconds, binMilliseconds: Self.binMilliseconds, bins: Self.bins).text)
            <h2>The \(role.rawValue): kills by system call</h2>
            \(HTMLReport.table(["call", "kills"], rows))
            """
    }
}
