/// What simulated schedules went through.
package struct Tally: Equatable, Sendable {
    package var schedules = 0
    package var ends: [Schedule.Machine: Int] = [:]
    package var powerCuts = 0
    package var restores = 0
    package var virtualMilliseconds: UInt64 = 0

    package init() {}

    package mutating func add(_ other: Tally) {
        schedules += other.schedules
        ends.merge(other.ends, uniquingKeysWith: +)
        powerCuts += other.powerCuts
        restores += other.restores
        virtualMilliseconds += other.virtualMilliseconds
    }
}
