import BluetoothCore

/// A drill of somebody's program as one page. Well-formed as XML too.
struct AppReport {
    let tally: AppTally

    var text: String {
        let name = tally.options.program.first ?? ""
        let verdict = tally.isOK ? "Every rule held" : "\(tally.failures.count) lives broke a rule"
        let body = """
            <h1>Latch drill of \(XMLText.escaped(name)) <span class="\(tally.isOK ? "ok" : "bad")">\(verdict)</span></h1>
            <p>Each life is a start of the program, its work up to its goal, and faults: kills with SIGKILL at its system calls, links
            that are lost, adapters that go away and come back. Rules: \(XMLText.escaped(tally.file)). Seed \(tally.seed).</p>
            \(figures)
            <h2>Rules</h2>
            \(rules)
            \(failures)
            <h2>Kills by system call</h2>
            \(HTMLReport.table(["call", "kills"], tally.killsByCall.map { [$0.name, "\($0.count)"] }))
            <h2>Lives</h2>
            \(lives)
            """
        return HTMLReport.page(title: "Latch drill of \(name), seed \(tally.seed): \(verdict)", body: body)
    }

    private var figures: String {
        HTMLReport.figures(
            [
                ("lives", "\(tally.results.count)"), ("violated", "\(tally.failures.count)"),
                ("excused", "\(tally.excused)"),
            ]
                + tally.faults.map { ($0.kind.rawValue, "\($0.count)") }
                + [
                    ("calls of a life", "\(tally.whole.calls.first ?? 0)"),
                    ("at its goal again, p50", "\(tally.restore.p50) ms"), ("max", "\(tally.restore.max) ms"),
                ])
    }

    private var rules: String {
        let rows = tally.promises.map { line, text in
            let (broken, excused) = (tally.broken(line), tally.excused(line))
            let verdict = broken > 0 ? "broken in \(broken) lives" : excused > 0 ? "\(excused) lives" : "held"
            return [verdict, line == 0 ? "" : "\(line)", text]
        }
        return HTMLReport.table(["verdict", "line", "rule"], rows)
    }

    private var failures: String {
        guard !tally.isOK else { return "" }
        let rows = tally.failures.flatMap { failure in
            failure.least.findings.map {
                [$0.description, failure.least.text, failure.found.text, tally.replay(failure.least.plan)]
            }
        }
        return "<h2>Broken</h2>"
            + HTMLReport.table(["what", "the least that breaks it", "found by", "again with"], rows)
    }

    private var lives: String {
        let rows = tally.results.map { result in
            let restores = result.restoreMilliseconds(tally.rules.goal).map { "\($0) ms" }.joined(separator: ", ")
            let excuse = AppJudge.excuse(result.history, by: tally.rules).map { "excused by line \($0)" }
            return [
                result.text, "\(result.milliseconds) ms", restores, result.isViolated ? "broken" : excuse ?? "held",
            ]
        }
        return HTMLReport.table(["faults", "length", "at its goal again in", "verdict"], rows)
    }
}
