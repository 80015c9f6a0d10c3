/// One bond's receipt counters, taken from durable blocks: a kill skips some and never repeats one.
struct ReceiptCounters {
    static let blockCounters: UInt32 = 64

    private var next: UInt32
    private var reservedBelow: UInt32

    /// `reservedBelow` is what the disk says: everything below may have been used.
    init(reservedBelow: UInt32) {
        next = reservedBelow
        self.reservedBelow = reservedBelow
    }

    /// The next counter, and what has to be on disk before it is used. nil once they are spent: they never wrap, the bond has
    /// to be renewed.
    mutating func take() -> (counter: UInt32, newlyReservedBelow: UInt32?)? {
        guard next < .max else { return nil }
        defer { next += 1 }
        guard next >= reservedBelow else { return (next, nil) }
        let (sum, overflow) = next.addingReportingOverflow(Self.blockCounters)
        reservedBelow = overflow ? .max : sum
        return (next, reservedBelow)
    }

    var isSpent: Bool { next == .max }
}
