import BluetoothCore

/// Finds out that somebody has set the machine's clock: it goes on with the boot time, but for what a time server corrects.
///
/// In: moments, in their order. Out: a step, once.
struct ClockWatch {
    /// Corrections add up from one step that was told to the next.
    private static let toleratedSeconds = UInt64(WallClockMark.backwardsMaximumSeconds)

    struct Step: Equatable {
        var expected: Int64
        var found: Int64
    }

    /// Seconds since 1970 when the boot began, as they were last believed; nil before the first time.
    private var bootSeconds: Int64?

    mutating func look(at moment: LockMoment) -> Step? {
        guard let found = moment.wallClockSeconds else { return nil }
        let passed = Int64(moment.now.nanoseconds / 1_000_000_000)
        let (begin, isOutOfRange) = found.subtractingReportingOverflow(passed)
        guard !isOutOfRange else { return nil }
        guard let last = bootSeconds else {
            bootSeconds = begin
            return nil
        }
        let (difference, isFar) = begin.subtractingReportingOverflow(last)
        guard isFar || difference.magnitude > Self.toleratedSeconds else { return nil }
        bootSeconds = begin
        return Step(expected: last &+ passed, found: found)
    }
}
