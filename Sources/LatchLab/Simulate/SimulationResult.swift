import CommandInterface
import DaemonControl
import Drills
import Simulation

/// What simulated schedules have come to, in figures and as files.
struct SimulationResult {
    let seed: UInt64
    let tally: Tally
    /// The broken promise, with as little as breaks it.
    var violation: Simulation.Violation?
    let spent: Duration
    let processorTime: Duration
    var isInterrupted: Bool

    /// Schedules, by the clock and by what processors worked.
    var perSecond: Int64 { perSecond(of: spent) }
    var perProcessorSecond: Int64 { perSecond(of: processorTime) }

    private func perSecond(of time: Duration) -> Int64 {
        time > .zero ? Int64(Double(tally.schedules) * (.seconds(1) / time)) : 0
    }

    var restore: (p50: UInt64, p99: UInt64, max: UInt64) { tally.restore }

    /// The command that breaks the promise again.
    static func again(_ violation: Simulation.Violation) -> String {
        "latch-lab drill simulate --seed \(violation.seed) --schedules \(Simulation.schedulesPerHouse)"
    }

    var json: JSONObject {
        var faults = JSONObject()
        for (kind, count) in tally.faults.sorted(by: { $0.key < $1.key }) { faults[kind] = .number(Int64(count)) }
        var object: JSONObject = [
            "seed": .string("\(seed)"), "schedules": .number(Int64(tally.schedules)),
            "lock_ends": .number(Int64(tally.ends[.lock] ?? 0)), "key_ends": .number(Int64(tally.ends[.key] ?? 0)),
            "restores": .number(Int64(tally.restores)),
            "restore_virtual_ms": .object([
                "p50": .number(Int64(restore.p50)), "p99": .number(Int64(restore.p99)),
                "max": .number(Int64(restore.max)),
            ]),
            "faults": .object(faults),
            "mean_events": .number(Int64(tally.events / max(1, tally.schedules))),
            "kill_points": .number(Int64(tally.points.count)),
            "virtual_hours": .number(Int64(tally.virtualMilliseconds / 3_600_000)),
            "schedules_per_second": .number(perSecond),
            "schedules_per_processor_second": .number(perProcessorSecond),
            "violations": .number(violation == nil ? 0 : 1),
        ]
        if isInterrupted { object["interrupted"] = .bool(true) }
        if let violation {
            object["broken"] = .array(violation.broken.map { .string($0) })
            object["least"] = .array(violation.schedules.map { .string("\($0)") })
            object["again"] = .string(Self.again(violation))
        }
        return object
    }

    /// - Throws: When the schedule that is drawn cannot be played again.
    func report() throws -> Report {
        let chronicle = try violation?.chronicle() ?? Simulation.sample(seed: seed)
        let page = SimulationPage(result: self, chronicle: chronicle)
        return Report(page: page.text, json: JSONValue.object(json).text + "\n", junit: junit)
    }

    private var junit: JUnit {
        let failures = violation.map {
            $0.broken + $0.schedules.map { "with \($0)" } + ["again with: " + Self.again($0)]
        }
        let milliseconds = UInt64(max(0, spent / .milliseconds(1)))
        return JUnit(
            suite: "drill simulate", properties: [("seed", "\(seed)"), ("schedules", "\(tally.schedules)")],
            cases: [
                JUnit.Case(
                    name: "every promise holds in simulated schedules", milliseconds: milliseconds,
                    failures: failures ?? [])
            ])
    }
}
