import DaemonControl

/// A drill of a program in figures.
struct AppTally: Sendable {
    let options: AppOptions
    let rules: AppRules
    /// The rules file's name.
    let file: String
    let seed: UInt64
    let whole: AppResult
    let results: [AppResult]
    let failures: [AppFailure]

    var isOK: Bool { failures.isEmpty }
    var kills: [AppHistory.Struck] { results.flatMap(\.kills) }
    /// Kills of a call that the life did not reach: they came when nothing was owed any more.
    var late: Int { kills.count { $0.call == nil && $0.fault.moment != .end } }
    /// Lives that a rule has excused.
    var excused: Int { results.count { AppJudge.excuse($0.history, by: rules) != nil } }
    var restore: Tally.Restore { Tally.Restore(results.flatMap { $0.restoreMilliseconds(rules.goal) }) }

    func replay(_ plan: AppPlan) -> String { options.replay(plan, rules: file, seed: seed) }

    /// Faults that happened, by their kind.
    var faults: [(kind: AppFault.Kind, count: Int)] {
        let all = results.flatMap(\.history.struck)
        return AppFault.Kind.allCases.map { kind in (kind, all.count { $0.fault.kind == kind }) }
    }

    /// Kills by the name of the call, the most frequent first.
    var killsByCall: [(name: String, count: Int)] {
        Dictionary(grouping: kills.compactMap(\.call), by: { $0 }).map { ($0.key, $0.value.count) }
            .sorted { ($1.count, $0.name) < ($0.count, $1.name) }
    }

    /// The promises: those of the file, with the goal and what is due again, and that nobody ends by itself.
    var promises: [(line: Int, text: String)] {
        var all = [(0, "nobody ends by itself"), (rules.goalLine, "until \(rules.goal)")]
        if let again = rules.again { all.append((rules.againLine, "again \(again)")) }
        return (all + rules.lines.map { ($0.number, $0.text) }).sorted { $0.0 < $1.0 }
    }

    func excused(_ line: Int) -> Int { results.count { AppJudge.excuse($0.history, by: rules) == line } }

    func broken(_ line: Int) -> Int { failures.count { $0.found.findings.contains { $0.line == line } } }

    var json: JSONObject {
        var struck = JSONObject()
        for (kind, count) in faults { struck[kind.rawValue] = JSONValue(count) }
        var calls = JSONObject()
        for (name, count) in killsByCall { calls[name] = JSONValue(count) }
        return [
            "ok": .bool(isOK), "seed": JSONValue(seed), "lives": JSONValue(results.count),
            "calls": JSONValue(whole.calls.first ?? 0), "faults": .object(struck), "late": JSONValue(late),
            "excused": JSONValue(excused),
            "restore_ms": restore.json, "kills_by_call": .object(calls), "violated": JSONValue(failures.count),
            "violations": .array(
                failures.map { failure in
                    [
                        "found": .string(failure.found.text), "least": .string(failure.least.text),
                        "replay": .string(replay(failure.least.plan)),
                        "texts": .array(failure.least.findings.map { .string($0.description) }),
                    ]
                }),
        ]
    }

    var jsonText: String { JSONValue.object(json).text }

    var summary: String {
        var lines = [
            field("calls", "\(whole.calls.first ?? 0) in a life without a fault"),
            field("lives", "\(results.count), \(failures.count) broke a rule, \(excused) excused"),
            field(
                "faults",
                faults.map { "\($0.count) \($0.kind.rawValue)" }.joined(separator: ", ")
                    + (late > 0 ? "; \(late) kills behind the last call" : "")),
            field("", "at \(killsByCall.prefix(8).map { "\($0.count) \($0.name)" }.joined(separator: ", "))"),
            field("at its goal again", "in \(restore.p50) ms (p50), \(restore.p99) ms (p99), \(restore.max) ms (max)"),
            field("seed", "\(seed)"),
        ]
        for failure in failures.prefix(20) {
            lines += failure.least.findings.map { field("VIOLATION", $0.description) }
            lines.append(
                field(
                    "", "by \(failure.least.text)" + (failure.isShrunk ? " alone; found by \(failure.found.text)" : ""))
            )
            lines.append(field("", replay(failure.least.plan)))
        }
        if failures.count > 20 { lines.append(field("", "and \(failures.count - 20) more lives")) }
        lines.append(isOK ? "ok: every rule held" : "FAILED")
        return lines.joined(separator: "\n") + "\n"
    }

    private func field(_ name: String, _ value: String) -> String {
        name + String(repeating: " ", count: max(1, 22 - name.count)) + value
    }

    /// Each life is a case, named by its faults.
    var junit: JUnit {
        let cases = ([whole] + results).map { result in
            let failure = failures.first { $0.found == result }
            let texts = result.findings.map(\.description)
            return JUnit.Case(
                name: result.text, milliseconds: result.milliseconds,
                failures: texts
                    + (failure.map { ["least: \($0.least.text), again with: \(replay($0.least.plan))"] } ?? []))
        }
        return JUnit(suite: "drill app \(options.program.first ?? "")", properties: [("seed", "\(seed)")], cases: cases)
    }
}
