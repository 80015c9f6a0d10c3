/// A moment in boot time (CLOCK_BOOTTIME) or in a simulator's virtual time: nanoseconds since that clock's origin.
package struct Instant: Hashable, Comparable, Sendable {
    package var nanoseconds: UInt64
    package init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    package static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }

    /// The earlier of two that need not be.
    package static func earliest(_ a: Self?, _ b: Self?) -> Self? {
        guard let a, let b else { return a ?? b }
        return min(a, b)
    }

    /// Saturates at the ends of the clock.
    package func advanced(byMilliseconds milliseconds: UInt64) -> Self {
        let (product, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
        let (sum, carry) = nanoseconds.addingReportingOverflow(product)
        return Self(nanoseconds: overflow || carry ? .max : sum)
    }

    /// 0 when `earlier` is not earlier.
    package func milliseconds(since earlier: Self) -> UInt64 {
        nanoseconds > earlier.nanoseconds ? (nanoseconds - earlier.nanoseconds) / 1_000_000 : 0
    }
}
