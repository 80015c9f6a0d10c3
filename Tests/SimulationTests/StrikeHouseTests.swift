import BluetoothCore
import LockCentral
import LockPeripheral
import LockProtocol
import StrikeControl
import TestSupport
import Testing

@testable import Simulation

/// What befalls a door that a strike holds has to come to something in a simulated house, or what withstands it proves nothing.
@Suite("A simulated house whose doors strikes hold")
struct StrikeHouseTests {
    /// With a sensor, a contact and everything told.
    private static func fit(_ drive: StrikeRules.Drive = .hold) -> DoorFit {
        var fit = DoorFit(seed: 0)
        (fit.drive, fit.failure, fit.hasFeedback, fit.hasContact, fit.retries) = (drive, .secure, true, true, 1)
        (fit.pulseMilliseconds, fit.orphanMilliseconds) = (3_000, 5_000)
        fit.rules = DoorRules(ajarSeconds: 2, exit: .opens)
        return fit
    }

    private static func house(_ fit: DoorFit = fit()) throws -> House {
        try House(seed: 4, keys: Tenants.plain, fit: fit, scratch: try ScratchSpace())
    }

    /// The owner's unlock, or lock, with nothing that goes wrong but this.
    private static func schedule(
        _ operation: LockOperation = .unlock, _ words: [(UInt64, Incident.Word)] = []
    ) throws -> Schedule {
        let all = (0..<500).map { Schedule(seed: 4, place: $0, keys: Tenants.plain) }
        var schedule = try #require(all.first { $0.key == 0 && $0.operation == operation && !$0.isEnrolment })
        schedule.faults = []
        schedule.incidents = words.map { Incident($1, afterMilliseconds: $0) }
        return schedule
    }

    private static func record(_ house: House) -> DoorRecord { house.doors[0].strike?.scene.record ?? DoorRecord() }

    @Test("What the keeper says while the lock waits for its disk is heard behind that commit")
    func heardBehindCommit() throws {
        let house = try Self.house()
        let (door, world) = (house.doors[0], house.world)
        let scene = try #require(door.strike?.scene)
        door.node.commitMilliseconds = 1_500
        let begin = world.now
        scene.after(200) { scene.press(milliseconds: 500) }
        door.node.call { _ in _ = try? door.lock?.administer(house.pockets[1].name, .disabled) }
        // One commit is under way as it is said, and one has it on disk before anything is ordered.
        let order = try #require(Self.record(house).orders.first { $0.opens })
        #expect(order.at.milliseconds(since: begin) == 3_000)
    }

    @Test("Somebody comes in behind a command, and leaves the door open: it is ajar, and the bolt waits for it")
    func ajar() throws {
        let house = try Self.house()
        #expect(house.play(try Self.schedule(.unlock, [(0, .comes(openMilliseconds: 9_000))])) == [])
        let record = Self.record(house)
        let leaf = try #require(record.open.all.first)
        let closed = try #require(leaf.to)
        #expect(record.alarms.map(\.alarm) == [.ajar])
        #expect(record.orders.allSatisfy { $0.opens || $0.at >= closed || $0.at < leaf.from })
        #expect(house.ledger.requests.first?.ends.isEmpty == false)
    }

    @Test("What is forced, held back, jammed or open is told, each by its name")
    func alarms() throws {
        let cases: [(LockOperation, Incident.Word, Alarm)] = [
            (.lock, .crime(openMilliseconds: 500), .forced(.door)),
            (.lock, .hand(milliseconds: 4_000), .forced(.bolt)),
            (.lock, .tamper(milliseconds: 2_000), .tamper(.door)),
        ]
        for (operation, word, alarm) in cases {
            let house = try Self.house()
            #expect(house.play(try Self.schedule(operation, [(6_000, word)])) == [], "\(word)")
            // The door's process ends with its schedule: what was told just before may be told again by the next one.
            #expect(Set(Self.record(house).alarms.map(\.alarm)) == [alarm], "\(word)")
        }
        let house = try Self.house()
        // A press that is too short to count: until then nobody mends the bolt.
        let words: [(UInt64, Incident.Word)] = [(0, .jam(milliseconds: nil)), (5_000, .exit(milliseconds: 10))]
        let broken = house.play(try Self.schedule(.unlock, words))
        #expect(broken == [])
        let record = Self.record(house)
        #expect(record.alarms.contains { $0.alarm == .jam(.jammed) })
        #expect(record.releases.count { $0.order?.intent == record.releases.first?.order?.intent } == 2)
    }

    @Test("A lock that is killed as it has a forced door on record tells of it in its next life")
    func untold() throws {
        let house = try Self.house()
        #expect(house.play(try Self.schedule(.lock, [(6_000, .crimeUntold(openMilliseconds: 500))])) == [])
        let record = Self.record(house)
        let written = try #require(record.forcedRecords.first)
        #expect(record.forcedRecords.count == 1)
        #expect(record.alarms.first?.alarm == .forced(.door))
        #expect(house.doors[0].absences.all.contains { $0.from == written })
    }

    @Test("A bolt that is jammed for a moment while it is called, and whose lock is killed then, breaks no promise")
    func jammedForAMoment() throws {
        for drive in StrikeRules.Drive.allCases {
            let house = try Self.house(Self.fit(drive))
            let broken = house.play(try Self.schedule(.unlock, [(0, .jam(milliseconds: nil))]))
            #expect(broken == [])
        }
    }

    @Test(
        "The button inside and a fire open by themselves, also behind a keeper's death; a pulse is made anew in a fire")
    func waysOut() throws {
        for drive in StrikeRules.Drive.allCases {
            let house = try Self.house(Self.fit(drive))
            #expect(house.play(try Self.schedule(.lock, [(3_000, .exit(milliseconds: 100))])) == [])
            #expect(Self.record(house).free.all.count >= 1)
            let words: [(UInt64, Incident.Word)] = [
                (2_000, .fire(milliseconds: 7_000)), (5_500, .keeperKilled(downMilliseconds: 20)),
            ]
            #expect(house.play(try Self.schedule(.lock, words)) == [])
            let record = Self.record(house)
            let fire = try #require(record.fires.all.first)
            let inFire = record.releases.filter { fire.meets($0.stretch.from, $0.stretch.from) }
            #expect(inFire.count >= 2, "\(drive)")
        }
    }

    @Test("A keeper that is killed at a call leaves its line, and the next one puts it to rest")
    func killed() throws {
        let house = try Self.house(Self.fit(.pulse))
        let point = KeeperKill(call: 1, isBehind: true, downMilliseconds: 500)
        #expect(house.play(try Self.schedule(.unlock, [(0, .keeperKilledAtCall(point))])) == [])
        let record = Self.record(house)
        let release = try #require(record.releases.first?.stretch)
        let absence = try #require(record.absences.all.first)
        #expect(absence.from == release.from && absence.to == release.to)
        #expect(release.to.map { $0.milliseconds(since: release.from) } == 500)
    }

    @Test("Each fault of the hardware comes to something, and none breaks a promise")
    func faults() throws {
        let words: [Incident.Word] = [
            .deafLine(milliseconds: 2_000), .lyingLine(milliseconds: 2_000),
            .stuckSensor(isLocked: true, milliseconds: 4_000), .stuckSensor(isLocked: false, milliseconds: 4_000),
            .unplugged(milliseconds: 4_000), .failingCalls(milliseconds: 4_000),
        ]
        for word in words {
            for drive in StrikeRules.Drive.allCases {
                let house = try Self.house(Self.fit(drive))
                #expect(house.play(try Self.schedule(.unlock, [(0, word)])) == [], "\(word), \(drive)")
                let request = try #require(house.ledger.requests.first)
                #expect(request.outcomes.first != .done || request.ends.first != .done, "\(word), \(drive)")
            }
        }
    }

    @Test("A house of strikes stands through random schedules, and a seed gives the same course twice")
    func seeded() throws {
        let generator = SeededGenerator(announcedBy: "StrikeHouseTests.seeded")
        for offset in [0, 1] as [UInt64] {
            let seed = (generator.seed >> 8) / 6 * 6 + 2 + 3 * offset
            let schedules = (0..<25).map { Simulation.schedule(seed: seed, place: $0) }
            #expect(schedules.allSatisfy { !$0.incidents.isEmpty })
            let first = try Simulation.play(seed: seed, schedules)
            let second = try Simulation.play(seed: seed, schedules)
            #expect(first.0?.broken == nil, "\(first.0.map { "\($0)" } ?? "")")
            #expect(first.1 == second.1 && first.1.schedules == 25)
        }
    }

    @Test("A door's incidents change nothing else of a schedule, and are taken away where a failure does not need them")
    func words() {
        let (seed, place) = (UInt64(2), 5)
        var plain = Simulation.schedule(seed: seed, place: place)
        let incidents = plain.incidents
        plain.incidents = []
        #expect(
            plain.description
                == "\(Schedule(seed: seed, place: place, keys: Tenants.household, isHousehold: true))")
        let kinds = Set((0..<300).flatMap { Incident.all(seed: seed, place: $0).map(\.kind) })
        #expect(kinds.count == 16 && !incidents.isEmpty)
        let schedules = (0..<20).map { Simulation.schedule(seed: seed, place: $0) }
        let least = Shrinker.least(of: schedules) { given -> [Schedule]? in
            guard
                let place = given.firstIndex(where: { schedule in
                    schedule.place == 3 && schedule.incidents.first == schedules[3].incidents.first
                })
            else { return nil }
            return Array(given[...place])
        }
        #expect(least.map(\.place) == [3] && least.first?.incidents.count == 1)
    }
}
