/// Schedules one after the other, in houses that stand for a while, until one breaks a promise.
package struct Simulation: Sendable {
    /// A house is furnished anew behind so many schedules.
    package static let schedulesPerHouse = 100
    package static let keys = Tenants.plain

    /// Each fourth house has two locks.
    static func doors(seed: UInt64) -> Int { seed % 4 == 3 ? 2 : 1 }

    /// Each second house is a household: it has an operator, people with software of their own, and more keys.
    static func isHousehold(seed: UInt64) -> Bool { seed.isMultiple(of: 2) }

    static func keys(seed: UInt64) -> Int { isHousehold(seed: seed) ? Tenants.household : keys }

    /// Strikes hold the doors of each third house.
    static func fit(seed: UInt64) -> DoorFit? { seed % 3 == 2 ? DoorFit(seed: seed) : nil }

    static func schedule(seed: UInt64, place: Int) -> Schedule {
        var schedule = Schedule(
            seed: seed, place: place, doors: doors(seed: seed), keys: keys(seed: seed),
            isHousehold: isHousehold(seed: seed))
        if fit(seed: seed) != nil { schedule.incidents = Incident.all(seed: seed, place: place) }
        return schedule
    }

    private static func house(seed: UInt64) throws -> House {
        try House(
            seed: seed, doors: doors(seed: seed), keys: keys(seed: seed), isHousehold: isHousehold(seed: seed),
            fit: fit(seed: seed), scratch: try ScratchSpace())
    }

    package struct Violation: Sendable {
        /// Of the house, in which these schedules break a promise again.
        package let seed: UInt64
        package let schedules: [Schedule]
        package let broken: [String]

        /// The same with as little as possible, or as far as that comes while `goesOn` says so.
        package func shrunk(while goesOn: () -> Bool = { true }) throws -> Violation {
            var least = self
            _ = try Shrinker.least(of: schedules) { fewer in
                guard goesOn(), let found = try play(seed: seed, fewer, while: goesOn).0 else { return nil }
                least = found
                return found.schedules
            }
            return least
        }

        /// How the last of the schedules went.
        package func chronicle() throws -> Chronicle { try Simulation.chronicle(seed: seed, schedules) }
    }

    package private(set) var tally = Tally()

    package init() {}

    /// Plays the schedules of one house. `goesOn` is asked before each.
    package mutating func playHouse(
        seed: UInt64, schedules count: Int, while goesOn: () -> Bool = { true }
    ) throws -> Violation? {
        let schedules = (0..<count).map { Self.schedule(seed: seed, place: $0) }
        let (violation, tally) = try Self.play(seed: seed, schedules, while: goesOn)
        self.tally.add(tally)
        return violation
    }

    /// How the first schedule of a house went.
    package static func sample(seed: UInt64) throws -> Chronicle {
        try chronicle(seed: seed, [schedule(seed: seed, place: 0)])
    }

    private static func chronicle(seed: UInt64, _ schedules: [Schedule]) throws -> Chronicle {
        let house = try house(seed: seed)
        for schedule in schedules.dropLast() { _ = house.play(schedule) }
        return schedules.last.flatMap(house.chronicle(of:)) ?? Chronicle(keys: keys(seed: seed), begin: house.world.now)
    }

    /// A house in which these are played, and no others.
    static func play(
        seed: UInt64, _ schedules: [Schedule], while goesOn: () -> Bool = { true }
    ) throws -> (Violation?, Tally) {
        let house = try house(seed: seed)
        for (number, schedule) in schedules.enumerated() {
            guard goesOn() else { break }
            let broken = house.play(schedule)
            guard broken.isEmpty else {
                return (
                    Violation(seed: seed, schedules: Array(schedules[...number]), broken: broken), house.tally
                )
            }
        }
        return (nil, house.tally)
    }
}
