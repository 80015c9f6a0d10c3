/// Cuts of a machine's power as one page. Well-formed as XML too.
struct CutReport {
    let tally: CutTally

    private static let binMilliseconds: UInt64 = 20
    private static let bins = 30

    var text: String {
        let verdict = tally.isOK ? "Every promise held" : "\(tally.violated.count) cuts broke a promise"
        let body = """
            <h1>Latch drill without power <span class="\(tally.isOK ? "ok" : "bad")">\(verdict)</span></h1>
            <p>A lock and a key live one short life, each on a machine with a disk of its own. In each life the power of one of them goes
            at one write or flush of its disk, which keeps some of what no flush had confirmed; then the power comes back. Seed
            \(tally.seed)\(tally.options.lies ? ", on a disk that lies about flushes" : "").</p>
            \(figures)
            <h2>Promises</h2>
            \(HTMLReport.promises(tally.violated.map(\.violations)))
            \(failures)
            \(tally.options.common.roles.map(section).joined(separator: "\n"))
            """
        return HTMLReport.page(title: "Latch drill without power, seed \(tally.seed): \(verdict)", body: body)
    }

    private var figures: String {
        HTMLReport.figures(
            [
                ("cuts", "\(tally.cuts.count)"), ("that lost something", "\(tally.losing)"),
                ("beyond the end", "\(tally.beyond)"), ("violated", "\(tally.violated.count)"),
            ]
                + tally.options.common.roles.map {
                    ("writes and flushes of a \($0.rawValue)'s life", "\(tally.counts[$0] ?? 0)")
                })
    }

    private var failures: String {
        guard !tally.isOK else { return "" }
        let rows = tally.violated.flatMap { result in
            result.violations.map {
                [
                    result.point.role.rawValue, result.place, $0,
                    result.point.replay(seed: tally.seed, options: tally.options),
                ]
            }
        }
        return "<h2>Broken</h2>" + HTMLReport.table(["whose power", "at", "what", "again with"], rows)
    }

    private func section(_ role: Role) -> String {
        let milliseconds = tally.restoreMilliseconds(role)
        let restore = Tally.Restore(milliseconds)
        return """
            <h2>The \(role.rawValue)</h2>
            <p>Its power went at \(tally.cuts(of: role, at: .write)) writes and \(tally.cuts(of: role, at: .flush)) flushes. It was back
            within \(restore.p50) ms (p50), \(restore.p99) ms (p99), \(restore.max) ms (max), from its start to its answer.</p>
            \(BarChart(
                title: "Restores by their length", milliseconds: milliseconds, binMilliseconds: Self.binMilliseconds, bins: Self.bins
            ).text)
            """
    }
}
