import DaemonControl

/// A drill at every system call in figures.
struct CallTally: Equatable, Sendable {
    let seed: UInt64
    let plant: DrillOptions.Plant?
    /// How many calls a whole life of each role makes.
    let counts: [Role: Int]
    let results: [CaseResult]

    var isOK: Bool { violated.isEmpty }
    var killed: [CaseResult] { results.filter { $0.call != nil } }
    var violated: [CaseResult] { results.filter(\.isViolated) }
    var beyond: Int { results.count { $0.verdict == .beyond } }

    /// Kills of one role by the name of the call, the most frequent first.
    func killsByCall(_ role: Role) -> [(name: String, count: Int)] {
        Dictionary(grouping: killed.filter { $0.point.role == role }, by: { $0.call ?? "" })
            .map { ($0.key, $0.value.count) }
            .sorted { ($1.count, $0.name) < ($0.count, $1.name) }
    }

    func restoreMilliseconds(_ role: Role) -> [UInt64] {
        results.filter { $0.point.role == role }.compactMap(\.restoreMicroseconds).map { ($0 + 999) / 1000 }
    }

    var json: JSONObject {
        var roles = JSONObject()
        for role in Role.allCases {
            let restore = Tally.Restore(restoreMilliseconds(role))
            var calls = JSONObject()
            for (name, count) in killsByCall(role) { calls[name] = JSONValue(count) }
            roles[role.rawValue] = [
                "calls": JSONValue(counts[role] ?? 0), "kills": JSONValue(killed.count { $0.point.role == role }),
                "restore_ms": restore.json, "kills_by_call": .object(calls),
            ]
        }
        var object: JSONObject = [
            "ok": .bool(isOK), "seed": JSONValue(seed), "cases": JSONValue(results.count),
            "kills": JSONValue(killed.count), "beyond": JSONValue(beyond), "violated": JSONValue(violated.count),
            "roles": .object(roles),
        ]
        object["violations"] = .array(
            violated.map { result in
                [
                    "replay": .string(result.point.replay(seed: seed, plant: plant)),
                    "call": .string(result.call ?? ""), "texts": .array(result.violations.map { .string($0) }),
                ]
            })
        return object
    }

    var jsonText: String { JSONValue.object(json).text }

    var summary: String {
        var lines: [String] = []
        for role in Role.allCases where results.contains(where: { $0.point.role == role }) {
            let restore = Tally.Restore(restoreMilliseconds(role))
            let name = role.rawValue.padded(to: 22)
            let kills = killed.count { $0.point.role == role }
            lines.append("\(name)\(counts[role].map { "\($0) calls in a life, " } ?? "")\(kills) kills")
            lines.append(
                "".padded(to: 22)
                    + "restored in \(restore.p50) ms (p50), \(restore.p99) ms (p99), \(restore.max) ms (max)")
            let calls = killsByCall(role).prefix(8).map { "\($0.count) \($0.name)" }.joined(separator: ", ")
            lines.append("".padded(to: 22) + "at \(calls)")
        }
        lines.append("cases".padded(to: 22) + "\(results.count), \(beyond) beyond the end, \(violated.count) violated")
        lines.append("seed".padded(to: 22) + "\(seed)")
        for result in violated.prefix(20) {
            lines += result.violations.map { "VIOLATION".padded(to: 22) + $0 }
            lines.append("".padded(to: 22) + result.point.replay(seed: seed, plant: plant))
        }
        if violated.count > 20 { lines.append("".padded(to: 22) + "and \(violated.count - 20) more cases") }
        lines.append(isOK ? "ok: every promise held" : "FAILED")
        return lines.joined(separator: "\n") + "\n"
    }
}

extension String {
    fileprivate func padded(to count: Int) -> String {
        self + String(repeating: " ", count: max(0, count - self.count))
    }
}
