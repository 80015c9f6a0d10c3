import CoreBluetoothEssentials
import LockPeripheral
import LockProtocol

/// What a lock counts since its program began, and how it stands: in words that are fixed. Nothing here names a user, a device or a key.
///
/// Nor does it say that somebody opened under a threat: figures are on screens that others see.
struct LockMetrics: Equatable, Sendable {
    private struct Command: Hashable {
        var operation: String
        var result: String
    }

    private var commands: [Command: UInt64] = [:]
    private var openings: [String: UInt64] = [:]
    private var movements: [String: UInt64] = [:]
    private var connections: UInt64 = 0
    private var failures: [String: UInt64] = [:]

    /// What is worth a look at the disk, the radio or a program of the operator's, by its name in the log.
    static let failureEvents = [
        "anchor_stuck", "row_damaged", "log_held", "bolt_command_failed", "alarm_hook_failed", "controller_failed",
        "controller_lost",
    ]

    mutating func take(_ event: LockEvent) {
        switch event {
        case .audit(let record): take(record.event)
        case .connected: connections += 1
        case .restored, .radio, .advertising, .advertisingFailed, .disconnected, .proven, .bolt, .actuator,
            .securedUnrecorded, .alarm, .enrolled:
            break
        }
    }

    /// False for what is no failure.
    mutating func take(eventOfLog name: String) -> Bool {
        guard Self.failureEvents.contains(name) else { return false }
        failures[name, default: 0] += 1
        return true
    }

    private mutating func take(_ event: AuditEvent) {
        switch event {
        case .granted(let audited):
            count(audited.command.operation, "granted")
            if !audited.command.operation.isSecuring { openings["command", default: 0] += 1 }
        case .refused(let audited, let result): count(audited.command.operation, Self.word(result.name))
        case .operated(.unlock): openings["operator", default: 0] += 1
        case .opening(let cause): openings["\(cause)", default: 0] += 1
        case .modeChanged(.passage, by: _): openings["mode", default: 0] += 1
        case .outcome(_, let outcome): movements["\(outcome)", default: 0] += 1
        default: break
        }
    }

    /// A peer chooses among sixteen operations: those that nobody knows are one.
    private mutating func count(_ operation: LockOperation, _ result: String) {
        let name = LockOperation.known.contains(operation) ? operation.name : "other"
        commands[Command(operation: name, result: result), default: 0] += 1
    }

    private static func word(_ name: String) -> String { String(name.map { $0 == " " ? "_" : $0 }) }

    // MARK: As text

    /// `vitals`: how the lock stands at this moment. `startSeconds`: when the program began, in seconds since 1970.
    func families(_ vitals: LockVitals, startSeconds: Int64?) -> [MetricFamily] {
        let commands = commands.sorted { ($0.key.operation, $0.key.result) < ($1.key.operation, $1.key.result) }
        var families = [
            MetricFamily(
                "latch_commands_total", .counter, "Commands of keys, by what the lock answered.",
                commands.map {
                    .init(labels: [("operation", $0.key.operation), ("result", $0.key.result)], value: $0.value)
                }),
            Self.counter(
                "latch_openings_total", "Openings that were decided on, by what asked for them.", "cause",
                ["command", "operator", "mode"] + OpeningCause.allCases.map { "\($0)" }, openings),
            Self.counter(
                "latch_movements_total", "Movements of the bolt, by how they ended.", "outcome",
                Outcome.allCases.map { "\($0)" }, movements),
            Self.counter(
                "latch_alarms_total", "Alarms, by kind; none of those that a threat raises.", "kind",
                AlarmKind.known.filter { $0 != .duress }.map(\.name),
                Dictionary(uniqueKeysWithValues: vitals.alarms.counts.map { ($0.key.name, $0.value) })),
            Self.counter(
                "latch_failures_total", "Failures of what the lock stands on, by their event in the log.", "event",
                Self.failureEvents, failures),
            MetricFamily("latch_connections_total", .counter, "Links that were made.", value: connections),
            MetricFamily("latch_links", .gauge, "Links at present.", value: UInt64(vitals.links)),
            MetricFamily(
                "latch_radio_on", .gauge, "Whether the radio is on.", value: vitals.radio == .poweredOn ? 1 : 0),
            MetricFamily(
                "latch_audit_last_record", .gauge, "The number of the audit's last record.", value: vitals.lastRecord),
        ]
        families += [
            MetricFamily(
                "latch_bolt", "Where the bolt is.", label: "state",
                states: [BoltCode.locked, .unlocking, .unlocked, .locking, .unlatched, .jammed, .unknown].map(\.name),
                is: vitals.bolt.name),
            MetricFamily(
                "latch_door", "How the door stands.", label: "state",
                states: [DoorCode.closed, .open, .ajar, .forced, .unknown].map(\.name), is: vitals.door.name),
            MetricFamily(
                "latch_mode", "What the door is for.", label: "mode", states: LockMode.allCases.map { "\($0)" },
                is: "\(vitals.mode)"),
            MetricFamily(
                "latch_held_open", "What holds the bolt open.", label: "by",
                states: ["nothing"] + DoorHold.allCases.map { "\($0)" },
                is: vitals.hold.map { "\($0)" } ?? "nothing"),
        ]
        if let startSeconds, startSeconds > 0 {
            families.append(
                MetricFamily(
                    "latch_start_time_seconds", .gauge, "When the lock's program began, in seconds since 1970.",
                    value: UInt64(startSeconds)))
        }
        return families
    }

    /// Each of `values` has a sample from the beginning on: a rate wants one before the first event.
    private static func counter(
        _ name: String, _ help: String, _ label: String, _ values: [String], _ counts: [String: UInt64]
    ) -> MetricFamily {
        MetricFamily(
            name, .counter, help, values.map { .init(labels: [(label, $0)], value: counts[$0] ?? 0) })
    }
}
