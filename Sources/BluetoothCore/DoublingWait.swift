/// How long what has failed waits before it is tried again: twice as long each time in a row, up to a longest wait. Without chance in it:
/// whoever tries here is the only one who does.
package struct DoublingWait: Equatable, Sendable {
    package let firstMilliseconds: UInt64
    package let longestMilliseconds: UInt64

    package init(firstMilliseconds: UInt64, longestMilliseconds: UInt64) {
        self.firstMilliseconds = firstMilliseconds
        self.longestMilliseconds = longestMilliseconds
    }

    /// Behind so many failures in a row: the first wait behind the first of them.
    package func milliseconds(failures: UInt64) -> UInt64 {
        let doublings = Int(min(max(failures, 1) - 1, UInt64(UInt64.bitWidth - 1)))
        guard firstMilliseconds.leadingZeroBitCount >= doublings else { return longestMilliseconds }
        return min(firstMilliseconds << doublings, longestMilliseconds)
    }
}
