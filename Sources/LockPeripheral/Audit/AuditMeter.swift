import BluetoothCore

/// How much of what one bond does at no cost is written down: a key gone wrong, or stolen, fills no disk, and pushes nobody else's
/// records out of the audit.
struct AuditMeter: Hashable {
    static let auditedPerWindowMaximum = 5
    static let windowMilliseconds: UInt64 = 60_000

    enum Verdict: Equatable {
        case audit
        /// One record that says that there were more.
        case summarise
        case omit
    }

    private var began: Instant?
    private var count = 0

    mutating func count(now: Instant) -> Verdict {
        if began.map({ now >= $0.advanced(byMilliseconds: Self.windowMilliseconds) }) ?? true {
            began = now
            count = 0
        }
        count = min(count + 1, Self.auditedPerWindowMaximum + 2)
        return switch count {
        case ...Self.auditedPerWindowMaximum: .audit
        case Self.auditedPerWindowMaximum + 1: .summarise
        default: .omit
        }
    }
}
