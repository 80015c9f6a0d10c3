import BluetoothCore
import LockCentral
import LockPeripheral
import LockProtocol
import TestSupport
import Testing

@testable import Simulation

/// Operators and people with software of their own have to come to something in a simulated household, or what withstands them proves
/// nothing.
@Suite("A simulated household")
struct HouseholdTests {
    private static func house() throws -> House {
        try House(seed: 4, keys: Tenants.household, isHousehold: true, scratch: try ScratchSpace())
    }

    /// An unlock by this key, with nothing that goes wrong.
    private static func schedule(by key: Int, _ chores: [Chore.Word] = [], _ visit: Visit? = nil) throws -> Schedule {
        let all = (0..<500).map { Schedule(seed: 4, place: $0, keys: Tenants.household) }
        var schedule = try #require(all.first { $0.key == key && $0.operation == .unlock && !$0.isEnrolment })
        schedule.faults = []
        schedule.chores = chores.map { Chore($0) }
        schedule.visit = visit
        return schedule
    }

    private static let asks: [Ask] = [
        .keyStatus, .state, .list, .getSettings, .getWindow, .get(2), .disable(2), .enable(2), .audit, .alarm,
        .open(2, .guest), .close, .mode(.privacy), .getTime,
    ]

    @Test(
        "An owner with software of its own is done all that it asks; a guest what is a guest's, and nothing is broken")
    func visits() throws {
        let house = try Self.house()
        // A link ends behind five that were refused.
        for (key, asks, granted) in [(0, Self.asks, Self.asks.count), (1, Array(Self.asks.prefix(6)), 2)] {
            let visit = Visit(key: key, wishes: asks.map { .ask($0) })
            #expect(house.play(try Self.schedule(by: key, [], visit)) == [])
            let answers = house.ledger.answers
            #expect(answers.map(\.ask) == asks, "key \(key)")
            #expect(answers.count { $0.result == .granted } == granted, "key \(key): \(answers.map(\.result))")
            #expect(answers.allSatisfy { $0.result != nil })
        }
    }

    @Test("A refusal that is told late is no answer to a question about the lock's state")
    func lateRefusal() {
        func state(_ bolt: BoltCode, _ result: LockResult, _ answered: UInt32) -> [UInt8] {
            LockState(bolt: bolt, door: .unknown, result: result, answered: answered).encoded
        }
        #expect(Insider.isRefusal(state(.unknown, .notPermitted, 7)))
        for told in [
            nil, [], state(.locked, .done, 0), state(.locked, .jammed, 7), state(.unknown, .done, 0),
            state(.unlocking, .accepted, 7),
        ] { #expect(!Insider.isRefusal(told), "\(String(describing: told))") }
    }

    @Test(
        "Commands of one's own move the bolt where there is a right to them, and not with a challenge that is dead or used"
    )
    func commands() throws {
        let house = try Self.house()
        func movements(_ key: Int, _ wishes: [Visit.Wish]) throws -> Int {
            #expect(house.play(try Self.schedule(by: key, [], Visit(key: key, wishes: wishes))) == [])
            return house.door.metal.movements.count { $0.line.movement != .lock }
        }
        let opening = Visit.Wish.command(operation: 2, argument: 0, lateMilliseconds: 0, isTwice: true)
        #expect(try movements(1, [opening]) == 1)
        #expect(try movements(0, [.command(operation: 2, argument: 255, lateMilliseconds: 0, isTwice: false)]) == 1)
        #expect(try movements(1, [.command(operation: 2, argument: 255, lateMilliseconds: 0, isTwice: false)]) == 0)
        #expect(try movements(1, [.command(operation: 3, argument: 0, lateMilliseconds: 0, isTwice: false)]) == 0)
        #expect(try movements(0, [.command(operation: 2, argument: 0, lateMilliseconds: 7_000, isTwice: false)]) == 0)
    }

    @Test("Whoever is refused often in a minute is told so each time, and his key has asked once for each")
    func refusedOften() throws {
        let house = try Self.house()
        for number in 1...9 {
            house.pockets[1].ask(.unlatch, of: house.door, waitMilliseconds: 20_000)
            house.agenda.run(milliseconds: 30_000) { house.ledger.requests.last?.ends.isEmpty == false }
            let request = try #require(house.ledger.requests.last)
            #expect(request.ends == [.refused(.notPermitted)], "\(number)")
            #expect(request.sent.count == 1, "\(number)")
        }
    }

    @Test(
        "An operator's words are obeyed: who is disabled, removed or without a schedule is refused, and has it back behind that"
    )
    func words() throws {
        var dice = Dice(seed: 1)
        let drafts = (0..<200).map { _ in RuleDraft(&dice) }
        let later = try #require(drafts.first { $0.kind == .span && $0.beginsSeconds == 3_600 })
        let house = try Self.house()
        let cases: [(Chore.Word, KeyVerdict)] = [
            (.disable(1), .refused(.notPermitted)), (.disableUser(1), .refused(.notPermitted)),
            (.rules(1, later), .refused(.outsideSchedule)), (.mode(.lockdown), .refused(.modeForbids)),
        ]
        for (word, verdict) in cases {
            #expect(house.play(try Self.schedule(by: 1, [word])) == [])
            #expect(house.ledger.requests.first?.ends == [verdict], "\(word)")
        }
        #expect(house.play(try Self.schedule(by: 1, [.remove(1)])) == [])
        #expect(house.ledger.requests.first.map { $0.ends.contains(.done) || $0.ends.contains(.accepted) } == false)
        #expect(house.play(try Self.schedule(by: 1, [.configure(zone: 2, holiday: nil)])) == [])
        #expect(house.play(try Self.schedule(by: 1)) == [])
        #expect(house.ledger.requests.first?.ends == [.accepted])
    }

    @Test("Whoever was removed, and was offered to come back as a user of his own, is enrolled again as what he was")
    func offeredAsAnother() throws {
        let further = Tenants.household - 1
        let seed = try Self.seed { $0[further].user != $0[further].name }
        let house = try House(seed: seed, keys: Tenants.household, isHousehold: true, scratch: try ScratchSpace())
        let visit = Visit(key: 0, wishes: [.ask(.remove(further)), .ask(.open(further, .guest))])
        #expect(house.play(try Self.schedule(by: 0, [], visit)) == [])
        #expect(house.ledger.answers.count { $0.result == .granted } == 2)
    }

    /// Of a house with such tenants.
    private static func seed(_ suits: ([Tenant]) -> Bool) throws -> UInt64 {
        try #require((0..<64).first { suits(Tenants.of($0, keys: Tenants.household)) })
    }

    @Test("Hours that are given to somebody who is offered a key end with what the operator sets right")
    func offeredWithHours() throws {
        let seed = try Self.seed { $0[1].user == $0[1].name }
        let house = try House(seed: seed, keys: Tenants.household, isHousehold: true, scratch: try ScratchSpace())
        var dice = Dice(seed: seed)
        let drafts = (0..<500).map { _ in RuleDraft(&dice) }
        let later = try #require(drafts.first { $0.kind == .validity && $0.beginsSeconds == 3_600 })
        var schedule = try Self.schedule(by: 0, [.remove(1)], Visit(key: 0, wishes: [.ask(.open(1, .guest))]))
        schedule.chores.append(Chore(.rules(1, later), afterMilliseconds: 1_500))
        #expect(house.play(schedule) == [])
        #expect(house.ledger.answers.map(\.result) == [.granted])
        #expect(house.play(try Self.schedule(by: 1)) == [])
    }

    @Test("A household stands through random schedules, and a seed gives the same course twice")
    func seeded() throws {
        let generator = SeededGenerator(announcedBy: "HouseholdTests.seeded")
        let seed = generator.seed & ~1
        let schedules = (0..<30).map { Simulation.schedule(seed: seed, place: $0) }
        #expect(schedules.contains { !$0.chores.isEmpty } && schedules.contains { $0.visit != nil })
        let first = try Simulation.play(seed: seed, schedules)
        let second = try Simulation.play(seed: seed, schedules)
        #expect(first.0?.broken == nil, "\(first.0.map { "\($0)" } ?? "")")
        #expect(first.1 == second.1 && first.1.schedules == 30)
    }

    @Test("What a failure does not need is taken away, chores and wishes too")
    func shrinking() {
        let schedules = (0..<20).map { Simulation.schedule(seed: 8, place: $0) }
        let needed = schedules.first { ($0.visit?.wishes.count ?? 0) > 2 && !$0.chores.isEmpty }?.place
        let least = Shrinker.least(of: schedules) { given -> [Schedule]? in
            guard let place = given.firstIndex(where: { $0.place == needed && $0.visit != nil }) else { return nil }
            return Array(given[...place])
        }
        #expect(needed != nil && least.map(\.place) == [needed])
        #expect(least.first?.chores.isEmpty == true && least.first?.visit?.wishes.isEmpty == true)
    }
}
