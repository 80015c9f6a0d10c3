/// What simulated schedules went through.
package struct Tally: Equatable, Sendable {
    /// Where a process was killed.
    package struct Point: Hashable, Sendable {
        let machine: Machine
        let point: KillPoint
    }

    package var schedules = 0
    package var ends: [Machine: Int] = [:]
    /// By their kinds.
    package var faults: [String: Int] = [:]
    package var points: Set<Point> = []
    package var restores = 0
    /// Iterations that were committed, and acts that were let go.
    package var events = 0
    package var virtualMilliseconds: UInt64 = 0

    package init() {}

    package mutating func add(_ other: Tally) {
        schedules += other.schedules
        ends.merge(other.ends, uniquingKeysWith: +)
        faults.merge(other.faults, uniquingKeysWith: +)
        points.formUnion(other.points)
        restores += other.restores
        events += other.events
        virtualMilliseconds += other.virtualMilliseconds
    }
}
