import Glibc
import TestSupport
import Testing

@testable import Simulation

@Suite("Simulated schedules")
struct ScheduleTests {
    @Test("A seed and a place say what happens; each schedule ends a process, whatever else it does")
    func seeded() {
        let generator = SeededGenerator(announcedBy: "ScheduleTests.seeded")
        let all = (0..<200).map { Schedule(seed: generator.seed, place: $0, keys: 2) }
        #expect(all.map(\.description) == (0..<200).map { "\(Schedule(seed: generator.seed, place: $0, keys: 2))" })
        #expect(Set(all.map { $0.description.drop { $0 != " " } }).count > 150)
        #expect(all.allSatisfy { $0.faults.contains(where: \.isKill) })
        #expect(Set(all.map(\.key)) == [0, 1])
        // Behind vandals a house is of no more use: they come to the last one.
        #expect(all.filter { $0.vandalism != nil }.map(\.place) == [99, 199])
    }

    @Test("A house stands through random schedules, and a seed gives the same course twice")
    func house() throws {
        let generator = SeededGenerator(announcedBy: "ScheduleTests.house")
        let schedules = (0..<40).map { Schedule(seed: generator.seed, place: $0, keys: Simulation.keys) }
        let first = try Simulation.play(seed: generator.seed, schedules)
        let second = try Simulation.play(seed: generator.seed, schedules)
        #expect(first.0?.broken == nil, "\(first.0.map { "\($0)" } ?? "")")
        #expect(first.1 == second.1)
        #expect(first.1.schedules == 40 && first.1.ends.values.reduce(0, +) >= 40)
    }

    /// Two keys whose processes had one chance made one signing key, and what the one had signed passed for the other's.
    @Test("No two machines of a house ever have the same chance")
    func chance() {
        let processes: UInt64 = 1_000
        let seeds = (0..<4).flatMap { machine in
            (0..<processes).map { House.seed(of: machine, in: .max - processes) &+ $0 }
        }
        #expect(Set(seeds).count == seeds.count)
    }

    /// The end of a cancelled attempt to connect came cut short; a suspended process was killed, and its successor suspended too.
    @Test("What once broke a promise breaks none any more", arguments: [(20_262_837, 10), (20_270_509, 52)])
    func found(seed: UInt64, place: Int) throws {
        let schedule = Schedule(seed: seed, place: place, keys: Simulation.keys)
        #expect(try Simulation.play(seed: seed, [schedule]).0?.broken == nil)
    }

    @Test("A house that has been played goes with everything in it, its files too")
    func leaving() throws {
        weak var world: World?
        weak var lock: Door?
        var path = ""
        do {
            let scratch = try ScratchSpace()
            path = scratch.path
            let house = try House(seed: 1, keys: 1, scratch: scratch)
            _ = house.play(Schedule(seed: 1, place: 0, keys: 1))
            (world, lock) = (house.world, house.door)
            #expect(world != nil && access(path, F_OK) == 0)
        }
        #expect(world == nil && lock == nil)
        #expect(access(path, F_OK) != 0)
    }

    @Test(
        "What happened in a schedule is told in its order: the command, the end of a process, the next one, the command behind it"
    )
    func chronicle() throws {
        let generator = SeededGenerator(announcedBy: "ScheduleTests.chronicle")
        let chronicle = try Simulation.sample(seed: generator.seed)
        let entries = chronicle.entries
        #expect(entries.map(\.milliseconds) == entries.map(\.milliseconds).sorted())
        #expect(entries.allSatisfy { $0.milliseconds <= chronicle.milliseconds && !$0.text.isEmpty })
        let end = try #require(entries.first { $0.mark == .ended })
        #expect(([.lock] + (0..<chronicle.keys).map { .key($0) }).contains(end.lane))
        #expect(entries.contains { $0.mark == .begun && $0.lane == end.lane && $0.milliseconds >= end.milliseconds })
        #expect(entries.last { $0.mark == .asked }?.text.hasSuffix("lock is asked for") == true)
        #expect(entries.last { $0.mark == .told }?.text.contains("told") == true)
        #expect(entries.contains { $0.lane == .faults })
        #expect(!entries.contains { $0.text.hasPrefix("broken") })
    }

    @Test("How long restores took: half of them, all but a hundredth, the last")
    func restores() {
        var tally = Tally()
        #expect(tally.restore == (0, 0, 0))
        for milliseconds in 1...200 { tally.restored(within: UInt64(milliseconds)) }
        var other = Tally()
        other.restored(within: 9_000)
        tally.add(other)
        #expect(tally.restore == (101, 199, 9_000))
    }

    @Test("What a failure does not need is taken away, schedules and faults")
    func shrinking() {
        let schedules = (0..<64).map { Schedule(seed: 5, place: $0, keys: 2) }
        var tries = 0
        // Only place 17 with its first fault, behind place 3, breaks anything.
        let least = Shrinker.least(of: schedules) { given -> [Schedule]? in
            tries += 1
            guard let place = given.firstIndex(where: { $0.place == 17 }), given[place].faults.count >= 1,
                given[..<place].contains(where: { $0.place == 3 })
            else { return nil }
            return Array(given[...place])
        }
        #expect(least.map(\.place) == [3, 17])
        #expect(least.map(\.faults.count) == [0, 1])
        #expect(tries < 100)
    }

    @Test("A failure that needs everything stays whole")
    func nothingToTake() {
        let schedules = (0..<5).map { Schedule(seed: 6, place: $0, keys: 2) }
        let faults = schedules.map(\.faults.count)
        let least = Shrinker.least(of: schedules) { given in
            given.map(\.place) == Array(0..<5) && given.map(\.faults.count) == faults ? given : nil
        }
        #expect(least.map(\.place) == Array(0..<5))
    }
}
