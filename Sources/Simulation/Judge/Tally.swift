/// What simulated schedules went through.
package struct Tally: Equatable, Sendable {
    /// Where a process was killed.
    package struct Point: Hashable, Sendable {
        package let machine: Machine
        package let point: KillPoint
    }

    package var schedules = 0
    package var ends: [Machine: Int] = [:]
    /// By their kinds.
    package var faults: [String: Int] = [:]
    package var points: Set<Point> = []
    package var restores = 0
    /// How many of a lock's processes were on the air again within so many milliseconds of virtual time.
    package var restoreMilliseconds: [UInt64: Int] = [:]
    /// Iterations that were committed, and acts that were let go.
    package var events = 0
    package var virtualMilliseconds: UInt64 = 0

    package init() {}

    mutating func restored(within milliseconds: UInt64) { restoreMilliseconds[milliseconds, default: 0] += 1 }

    /// How long it took half of the locks, all but a hundredth of them, and the last one.
    package var restore: (p50: UInt64, p99: UInt64, max: UInt64) {
        let sorted = restoreMilliseconds.sorted { $0.key < $1.key }
        let count = sorted.reduce(0) { $0 + $1.value }
        func percentile(_ share: Int) -> UInt64 {
            var rest = count * share / 100
            for (milliseconds, count) in sorted {
                if rest < count { return milliseconds }
                rest -= count
            }
            return 0
        }
        return (percentile(50), percentile(99), sorted.last?.key ?? 0)
    }

    package mutating func add(_ other: Tally) {
        schedules += other.schedules
        ends.merge(other.ends, uniquingKeysWith: +)
        faults.merge(other.faults, uniquingKeysWith: +)
        points.formUnion(other.points)
        restores += other.restores
        restoreMilliseconds.merge(other.restoreMilliseconds, uniquingKeysWith: +)
        events += other.events
        virtualMilliseconds += other.virtualMilliseconds
    }
}
