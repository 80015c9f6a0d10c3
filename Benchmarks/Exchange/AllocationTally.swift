import AllocationCounter

/// How many allocations this thread makes between two operations of a series, once it is warm.
struct AllocationTally {
    private let warmUpCount: Int
    private var operations = 0
    private var first: UInt64 = 0
    private var last: UInt64 = 0

    init(warmUpCount: Int) { self.warmUpCount = warmUpCount }

    /// One more operation is done.
    mutating func note() {
        operations += 1
        last = latch_allocation_count()
        if operations == warmUpCount { first = last }
    }

    /// nil while nothing has been counted.
    var perOperation: Double? {
        operations > warmUpCount ? Double(last - first) / Double(operations - warmUpCount) : nil
    }
}
