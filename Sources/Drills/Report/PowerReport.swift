import DaemonControl

/// Cuts of a whole machine's power, life after life, each judged by the key's operator and the bolt.
package struct PowerReport: MeasuredReport {
    /// One cut and the life behind it, as a line of JSON tells it.
    private struct Cut {
        let number: UInt64
        /// What the power went at: `write 14`.
        let place: String
        /// Octets that no flush had confirmed, and how many of them the medium kept.
        let unconfirmed: UInt64
        let kept: UInt64
        /// The check that each boot makes had to mend the file system.
        let isMended: Bool
        /// From the machine's start to the lock's first answer; nil where it never came.
        let backMilliseconds: UInt64?
        /// What the operator was told of each command.
        let answers: [String]
        let violations: [String]
    }

    private let seed: UInt64
    private let lies: Bool
    private let cuts: [Cut]
    private static let binMilliseconds: UInt64 = 1_000
    private static let bins = 40

    /// - Parameter lines: one with the seed, and one for each cut.
    package init(lines: [String]) throws {
        guard let head = lines.first.flatMap(Self.object),
            let seed = head["seed"]?.number.flatMap(UInt64.init(exactly:)),
            let lies = head["lies"]?.bool
        else { throw Self.malformed(line: 1, expected: "a seed, and whether the disk lies") }
        self.seed = seed
        self.lies = lies
        cuts = try lines.enumerated().dropFirst().map { index, line in
            guard let cut = Self.object(line).flatMap(Self.cut) else {
                throw Self.malformed(line: index + 1, expected: "all that is told of a cut")
            }
            return cut
        }
        guard !cuts.isEmpty else { throw DrillError(.environment, "there is no cut to tell of") }
    }

    private static func cut(_ object: JSONObject) -> Cut? {
        func count(_ name: String) -> UInt64? { object[name]?.number.flatMap(UInt64.init(exactly:)) }
        func texts(_ name: String) -> [String]? {
            guard let values = object[name]?.array else { return nil }
            let texts = values.compactMap(\.string)
            return texts.count == values.count ? texts : nil
        }
        guard let number = count("cut"), let operation = object["at"]?.string, let place = count("number"),
            let unconfirmed = count("unconfirmed"), let kept = count("kept"), kept <= unconfirmed,
            let isMended = object["mended"]?.bool, let back = object["back_ms"], let answers = texts("answers"),
            let violations = texts("violations")
        else { return nil }
        // A lock that never came back has broken a promise.
        guard count("back_ms") != nil || back == .null && !violations.isEmpty else { return nil }
        return Cut(
            number: number, place: "\(operation) \(place)", unconfirmed: unconfirmed, kept: kept, isMended: isMended,
            backMilliseconds: count("back_ms"), answers: answers, violations: violations)
    }

    package var isOK: Bool { violated.isEmpty }
    private var violated: [Cut] { cuts.filter { !$0.violations.isEmpty } }
    private var losing: Int { cuts.count { $0.kept < $0.unconfirmed } }
    private var mended: Int { cuts.count(where: \.isMended) }
    private var back: [UInt64] { cuts.compactMap(\.backMilliseconds) }

    /// Each life begins with the disk that the last one left: all the cuts before it belong to a cut.
    private func again(_ cut: Cut) -> String {
        "scripts/drill-power --seed \(seed) --cuts \(cut.number)\(lies ? " --lying" : "")"
    }

    package var json: JSONObject {
        [
            "ok": .bool(isOK), "seed": JSONValue(seed), "lies": .bool(lies), "cuts": JSONValue(cuts.count),
            "cuts_that_lost_something": JSONValue(losing), "cuts_whose_boot_mended_the_disk": JSONValue(mended),
            "back_ms": Tally.Restore(back).json, "violated": JSONValue(violated.count),
            "violations": .array(
                violated.map { cut in
                    [
                        "cut": JSONValue(cut.number), "place": .string(cut.place),
                        "texts": .array(cut.violations.map { .string($0) }), "replay": .string(again(cut)),
                    ]
                }),
        ]
    }

    package var report: Report { Report(page: page, json: JSONValue.object(json).text + "\n", junit: junit) }

    private var junit: JUnit {
        JUnit(
            suite: "drill power", properties: [("seed", "\(seed)")],
            cases: cuts.map { cut in
                JUnit.Case(
                    name: "cut \(cut.number), at \(cut.place)", milliseconds: cut.backMilliseconds ?? 0,
                    failures: cut.violations.isEmpty ? [] : cut.violations + ["again with: " + again(cut)])
            })
    }

    private var page: String {
        let verdict = isOK ? "Every promise held" : "\(violated.count) cuts broke a promise"
        let restore = Tally.Restore(back)
        let rows = cuts.map { cut in
            [
                "\(cut.number)", cut.place, "\(cut.kept) of \(cut.unconfirmed)", cut.isMended ? "yes" : "",
                cut.backMilliseconds.map { "\($0)" } ?? "never", cut.answers.joined(separator: ", then "),
                cut.violations.joined(separator: "; "),
            ]
        }
        let heads = ["cut", "at", "octets kept", "mended", "back, ms", "the operator was told", "broken"]
        let broken = violated.flatMap { cut in cut.violations.map { [cut.place, $0, again(cut)] } }
        let body = """
            <h1>Power of a whole machine <span class="\(isOK ? "ok" : "bad")">\(verdict)</span></h1>
            <p>A virtual machine with a lock loses its power at a write or a flush of its disk while a command is carried out, and boots
            again on what the disk kept of the octets that no flush had confirmed. The key and the bolt are outside. Seed
            \(seed)\(lies ? ", on a disk that lies about flushes" : "").</p>
            \(HTMLReport.figures([
                ("cuts", "\(cuts.count)"), ("that lost something", "\(losing)"), ("mended by the boot's check", "\(mended)"),
                ("violated", "\(violated.count)"),
            ]))
            \(broken.isEmpty ? "" : "<h2>Broken</h2>" + HTMLReport.table(["at", "what", "again with"], broken))
            <h2>Back</h2>
            <p>The lock answered within \(restore.p50) ms (p50), \(restore.p99) ms (p99), \(restore.max) ms (max), from its machine's start. The
            machine is emulated.</p>
            \(BarChart(
                title: "Boots by their length", milliseconds: back, binMilliseconds: Self.binMilliseconds, bins: Self.bins
            ).text)
            <h2>Cuts</h2>
            \(HTMLReport.table(heads, rows))
            """
        return HTMLReport.page(title: "Power of a whole machine, seed \(seed): \(verdict)", body: body)
    }
}
