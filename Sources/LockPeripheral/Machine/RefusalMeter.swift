import BluetoothCore

/// How much of one bond's refusals is written down: a key gone wrong, or stolen, cannot fill the disk.
struct RefusalMeter {
    static let auditedPerWindowMaximum = 5
    static let windowMilliseconds: UInt64 = 60_000

    enum Verdict: Equatable {
        case audit
        /// One record that says that there were more, and a disconnect.
        case summarise
        /// A disconnect.
        case drop
    }

    private var began: Instant?
    private var count = 0

    mutating func refuse(now: Instant) -> Verdict {
        if began.map({ now >= $0.advanced(byMilliseconds: Self.windowMilliseconds) }) ?? true {
            began = now
            count = 0
        }
        count = min(count + 1, Self.auditedPerWindowMaximum + 2)
        return switch count {
        case ...Self.auditedPerWindowMaximum: .audit
        case Self.auditedPerWindowMaximum + 1: .summarise
        default: .drop
        }
    }
}
