import DaemonControl

/// Cuts of a machine's power in figures.
struct CutTally: Equatable, Sendable {
    let seed: UInt64
    let options: MachineOptions
    /// How many writes and flushes a whole life of each role's machine makes.
    let counts: [Role: Int]
    let results: [CutResult]

    var isOK: Bool { violated.isEmpty }
    var violated: [CutResult] { results.filter(\.isViolated) }
    var cuts: [CutResult] { results.filter { $0.operation != nil } }
    var beyond: Int { results.count { $0.operation == nil } }

    func cuts(of role: Role, at operation: CutDisk.Operation) -> Int {
        cuts.count { $0.point.role == role && $0.operation == operation }
    }

    /// Cuts at which something was in the cache that could be lost.
    var losing: Int { cuts.count { $0.keptOctets < $0.unflushedOctets } }

    func restoreMilliseconds(_ role: Role) -> [UInt64] {
        results.filter { $0.point.role == role }.compactMap(\.restoreMicroseconds).map { ($0 + 999) / 1000 }
    }

    var json: JSONObject {
        var roles = JSONObject()
        for role in options.common.roles {
            roles[role.rawValue] = [
                "operations": JSONValue(counts[role] ?? 0),
                "cuts_at_writes": JSONValue(cuts(of: role, at: .write)),
                "cuts_at_flushes": JSONValue(cuts(of: role, at: .flush)),
                "restore_ms": Tally.Restore(restoreMilliseconds(role)).json,
            ]
        }
        var object: JSONObject = [
            "ok": .bool(isOK), "seed": JSONValue(seed), "cuts": JSONValue(cuts.count),
            "cuts_that_lost_something": JSONValue(losing), "beyond": JSONValue(beyond),
            "violated": JSONValue(violated.count), "roles": .object(roles),
        ]
        object["violations"] = .array(
            violated.map { result in
                [
                    "replay": .string(result.point.replay(seed: seed, options: options)),
                    "place": .string(result.place), "texts": .array(result.violations.map { .string($0) }),
                ]
            })
        return object
    }

    var jsonText: String { JSONValue.object(json).text }

    var summary: String {
        var lines = options.common.roles.map { role in
            let restore = Tally.Restore(restoreMilliseconds(role))
            return "\(role.rawValue): \(counts[role] ?? 0) writes and flushes in a life; power cut at "
                + "\(cuts(of: role, at: .write)) writes and \(cuts(of: role, at: .flush)) flushes; "
                + "back in \(restore.p50) ms (p50), \(restore.p99) ms (p99), \(restore.max) ms (max)"
        }
        lines.append(
            "\(cuts.count) cuts, \(losing) of which lost something, \(beyond) beyond the end, \(violated.count) violated"
        )
        lines.append("seed \(seed)")
        for result in violated.prefix(20) {
            lines += result.violations.map { "VIOLATION " + $0 }
            lines.append("  at \(result.place): " + result.point.replay(seed: seed, options: options))
        }
        if violated.count > 20 { lines.append("and \(violated.count - 20) more cuts") }
        lines.append(isOK ? "ok: every promise held" : "FAILED")
        return lines.joined(separator: "\n") + "\n"
    }

    /// Each cut is a case, named by its operation and with the command that comes back to it where it failed.
    var junit: JUnit {
        JUnit(
            suite: "drill machine", properties: [("seed", "\(seed)")],
            cases: results.map { result in
                let replay = "again with: " + result.point.replay(seed: seed, options: options)
                return JUnit.Case(
                    name: "\(result.point.role.rawValue), choice \(result.point.choice), at \(result.place)",
                    milliseconds: result.milliseconds,
                    failures: result.violations.isEmpty ? [] : result.violations + [replay])
            })
    }
}
