import BluetoothCore
import LockPeripheral
import StatePersistence

/// A row of the audit as somebody finds it who reads the file: a damaged one costs itself.
package enum AuditRow: Hashable, Sendable {
    case record(AuditRecord)
    case unreadable(AuditRemains)

    package var sequence: UInt64 {
        switch self {
        case .record(let record): record.sequence
        case .unreadable(let rest): rest.sequence
        }
    }

    package var record: AuditRecord? { if case .record(let record) = self { record } else { nil } }
}

/// What is left of a record that a medium has damaged, or that a newer version wrote; nil for each part that is none. Of a whole one all.
package struct AuditRemains: Hashable, Sendable {
    package var sequence: UInt64
    package var boot: BootID?
    package var at: Instant?
    package var wallClockSeconds: Int64?
    /// The event's octets.
    package var event: [UInt8]?
    package var hash: [UInt8]?

    package init(sequence: UInt64) { self.sequence = sequence }

    package init(_ record: AuditRecord) {
        sequence = record.sequence
        boot = record.boot
        at = record.at
        wallClockSeconds = record.wallClockSeconds
        event = record.event.encoded
        hash = record.hash
    }
}

/// A row of the audit's cuts.
package struct AuditCutRow: Hashable, Sendable {
    /// The last record that it is to answer for.
    package var last: UInt64
    /// nil where it cannot be read.
    package var cut: AuditCut?
}
