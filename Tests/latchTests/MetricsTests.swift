import BluetoothCore
import BluetoothHost
import CommandInterface
import CoreBluetoothEssentials
import Foundation
import Glibc
import LockProtocol
import TestSupport
import Testing

@testable import LockPeripheral
@testable import latch

/// Reads the text format by its grammar, and refuses what is not exactly so.
private struct PrometheusReader {
    struct Problem: Error, Equatable { var line: Int }

    /// By name and labels, as they stand.
    private(set) var samples: [String: Double] = [:]
    private(set) var kinds: [String: String] = [:]

    init(_ text: String) throws {
        guard text.isEmpty || text.hasSuffix("\n") else { throw Problem(line: 0) }
        var family: String?
        var helped: Set<String> = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().enumerated() {
            let problem = Problem(line: index + 1)
            if let match = line.wholeMatch(of: /# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (?:[^\\\n]|\\\\|\\n)*/) {
                // All lines of a metric are one group.
                guard helped.insert(String(match.1)).inserted else { throw problem }
                family = String(match.1)
            } else if let match = line.wholeMatch(of: /# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)/) {
                guard family == String(match.1), kinds[String(match.1)] == nil else { throw problem }
                kinds[String(match.1)] = String(match.2)
            } else if let match = line.wholeMatch(
                of:
                    /([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*")*\})? ([0-9]+)/
            ) {
                guard family == String(match.1), let kind = kinds[String(match.1)] else { throw problem }
                guard (kind == "counter") == match.1.hasSuffix("_total") else { throw problem }
                let sample = String(match.1) + (match.2.map(String.init) ?? "")
                guard samples[sample] == nil, let value = Double(match.3) else { throw problem }
                samples[sample] = value
            } else {
                throw problem
            }
        }
    }
}

@Suite("Metrics", .serialized)
struct MetricsTests {
    private static func record(_ event: AuditEvent) -> LockEvent {
        var head = AuditHead.empty
        return .audit(
            head.append(
                event, boot: BootID(bits: 1), at: Instant(nanoseconds: 1), wallClockSeconds: nil, holder: .lock))
    }

    private static func command(_ operation: LockOperation) -> AuditedCommand {
        AuditedCommand(
            bond: 7, credential: CredentialID(rawValue: 1),
            command: LockCommand(operation: operation, challenge: ChallengeID(bits: 1)), signCounter: nil)
    }

    private static let vitals = LockVitals(
        radio: .poweredOn, bolt: .unlocked, door: .open, mode: .privacy, hold: .fire, links: 2, lastRecord: 812,
        alarms: AlarmBook())

    private static func text(_ metrics: LockMetrics, _ vitals: LockVitals = vitals) -> String {
        metrics.families(vitals, startSeconds: 1_800_000_000).map(\.text).joined()
    }

    @Test("Every figure is there from the beginning, and one state of each is the present one")
    func beginning() throws {
        let read = try PrometheusReader(Self.text(LockMetrics()))
        for (sample, value) in [
            ("latch_openings_total{cause=\"operator\"}", 0.0), ("latch_movements_total{outcome=\"unknown\"}", 0),
            ("latch_alarms_total{kind=\"jam\"}", 0), ("latch_failures_total{event=\"anchor_stuck\"}", 0),
            ("latch_links", 2),
            ("latch_radio_on", 1), ("latch_audit_last_record", 812), ("latch_bolt{state=\"unlocked\"}", 1),
            ("latch_bolt{state=\"locked\"}", 0), ("latch_door{state=\"open\"}", 1), ("latch_mode{mode=\"privacy\"}", 1),
            ("latch_held_open{by=\"fire\"}", 1), ("latch_held_open{by=\"nothing\"}", 0),
            ("latch_start_time_seconds", 1_800_000_000),
        ] { #expect(read.samples[sample] == value, "\(sample)") }
        for family in ["latch_bolt", "latch_door", "latch_mode", "latch_held_open"] {
            #expect(read.samples.filter { $0.key.hasPrefix(family + "{") }.values.reduce(0, +) == 1, "\(family)")
        }
        #expect(read.samples.keys.contains { $0.contains("duress") } == false)
    }

    @Test(
        "Commands count by answer, openings by cause, movements by outcome; nobody's name is among it, and no label without end"
    )
    func counts() throws {
        var metrics = LockMetrics()
        for event: AuditEvent in [
            .granted(Self.command(.unlock)), .granted(Self.command(.unlock)), .granted(Self.command(.lock)),
            .refused(Self.command(.unlock), .modeForbids), .operated(.unlock), .operated(.lock), .opening(.exit),
            .opening(.hold), .modeChanged(.passage, by: nil), .modeChanged(.normal, by: nil), .outcome(of: 1, .done),
            .outcome(of: 2, .unknown), .enrolled(CredentialID(rawValue: 1), name: "Anna", .owner, bond: 7),
            .duress(CredentialID(rawValue: 1), name: "Anna"),
        ] { metrics.take(Self.record(event)) }
        for number in UInt8(5)...15 {
            metrics.take(Self.record(.refused(Self.command(LockOperation(rawValue: number)), .notPermitted)))
        }
        for _ in 0..<3 { metrics.take(.connected(LinkID(rawValue: 1), PeerIdentifier(bits: 1), nil)) }
        metrics.take(.disconnected(LinkID(rawValue: 1), PeerIdentifier(bits: 1)))
        #expect(metrics.take(eventOfLog: "anchor_stuck") && !metrics.take(eventOfLog: "bolt"))
        var vitals = Self.vitals
        for alarm in [Alarm.jam(.jammed), .jam(.unknown), .tamper(.row), .duress(of: CredentialID(rawValue: 1))] {
            _ = vitals.alarms.take(alarm, on: nil, now: Instant(nanoseconds: 1))
        }
        let text = Self.text(metrics, vitals)
        let read = try PrometheusReader(text)
        for (sample, value) in [
            ("latch_commands_total{operation=\"unlock\",result=\"granted\"}", 2.0),
            ("latch_commands_total{operation=\"lock\",result=\"granted\"}", 1),
            ("latch_commands_total{operation=\"unlock\",result=\"mode_forbids\"}", 1),
            ("latch_commands_total{operation=\"other\",result=\"not_permitted\"}", 11),
            ("latch_openings_total{cause=\"command\"}", 2), ("latch_openings_total{cause=\"operator\"}", 1),
            ("latch_openings_total{cause=\"exit\"}", 1), ("latch_openings_total{cause=\"hold\"}", 1),
            ("latch_openings_total{cause=\"mode\"}", 1), ("latch_movements_total{outcome=\"done\"}", 1),
            ("latch_movements_total{outcome=\"unknown\"}", 1), ("latch_failures_total{event=\"anchor_stuck\"}", 1),
            ("latch_connections_total", 3), ("latch_alarms_total{kind=\"jam\"}", 2),
            ("latch_alarms_total{kind=\"tamper\"}", 1), ("latch_alarms_total{kind=\"forced\"}", 0),
        ] { #expect(read.samples[sample] == value, "\(sample)") }
        #expect(!text.contains("Anna") && !text.contains("duress"))
    }

    @Test("Labels and help texts are escaped, and a metric without a sample is not there")
    func escaping() throws {
        let family = MetricFamily("x_total", .counter, "a\\b\nc", [.init(labels: [("l", "q\"\\\n")], value: 1)])
        #expect(family.text == "# HELP x_total a\\\\b\\nc\n# TYPE x_total counter\nx_total{l=\"q\\\"\\\\\\n\"} 1\n")
        #expect(try PrometheusReader(family.text).samples.count == 1)
        #expect(MetricFamily("x", .gauge, "x").text == "")
    }

    @Test("The reader refuses what is no text of metrics")
    func reader() {
        let head = "# HELP x h\n# TYPE x gauge\n"
        for text in [
            "x 1\n", head + "x 1", head + "x 1\nx 1\n", head + "x{l=\"a\"b\"} 1\n", head + "x one\n", head + "y 1\n",
            head + head, "# HELP x_total h\n# TYPE x_total gauge\nx_total 1\n",
        ] { #expect(throws: PrometheusReader.Problem.self, "\(text)") { try PrometheusReader(text) } }
    }

    // MARK: With a lock and an operator, each a process

    @Test("The file is for everybody, is replaced as a whole when something happens, and goes with the daemon")
    func file() throws {
        let bench = try Bench()
        let path = bench.path("metrics.prom")
        let configuration = try bench.directory.write(
            "[metrics]\nfile = \"\(path)\"\ninterval_seconds = 1\n", to: "lock.conf")
        let lock = try bench.start("peripheral", "lock", ["--config", configuration])
        func sample(_ name: String) -> Double? {
            (try? PrometheusReader(String(contentsOfFile: path, encoding: .utf8)))?.samples[name]
        }
        #expect(waits { sample("latch_bolt{state=\"locked\"}") == 1 && sample("latch_radio_on") == 1 })
        // While it is open no other file gets its number.
        let first = open(path, O_RDONLY)
        defer { close(first) }
        var status = stat()
        #expect(fstat(first, &status) == 0 && status.st_mode & 0o7777 == 0o644)
        try bench.succeed("peripheral", "unlock", "lock")
        #expect(
            waits {
                sample("latch_bolt{state=\"unlocked\"}") == 1 && sample("latch_openings_total{cause=\"operator\"}") == 1
            })
        var now = stat()
        #expect(stat(path, &now) == 0 && now.st_ino != status.st_ino, "another file under its name")
        // Elsewhere, while the lock runs.
        let other = bench.path("other.prom")
        _ = try bench.directory.write("[metrics]\nfile = \"\(other)\"\ninterval_seconds = 1\n", to: "lock.conf")
        #expect(try bench.latch("peripheral", "reload", "lock").output == "changed: [metrics] file\n")
        #expect(
            waits { FileManager.default.fileExists(atPath: other) && !FileManager.default.fileExists(atPath: path) })
        #expect(lock.end() == 0)
        #expect(!FileManager.default.fileExists(atPath: other))
    }

    @Test("A file that cannot be written is said once, and the lock goes on")
    func unwritable() throws {
        let bench = try Bench()
        let configuration = try bench.directory.write(
            "[metrics]\nfile = \"\(bench.path("none/metrics.prom"))\"\ninterval_seconds = 1\n", to: "lock.conf")
        let lock = try bench.start(
            "peripheral", "lock", ["--config", configuration, "--journal", bench.path("journal")])
        try bench.succeed("peripheral", "unlock", "lock")
        try bench.succeed("peripheral", "lock", "lock")
        func said() -> Int {
            let text = (try? String(contentsOfFile: bench.path("journal"), encoding: .utf8)) ?? ""
            return text.components(separatedBy: "\"metrics_failed\"").count - 1
        }
        #expect(waits { said() == 1 })
        #expect(lock.end() == 0)
        #expect(said() == 1)
    }
}
