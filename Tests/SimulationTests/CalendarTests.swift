import BluetoothCore
import LockProtocol
import TestSupport
import Testing

@testable import Simulation

/// The judge's calendar shares no code with the products'. By hand where a day is special, and against theirs by chance.
@Suite("The judge's calendar")
struct CalendarTests {
    private static let berlin = Zone.all[1]

    @Test("Days and weekdays, counted")
    func days() {
        #expect(Zone.day(ofFirstIn: 1, 1970) == 0 && Zone.day(ofFirstIn: 3, 2000) == 11_017)
        #expect(Zone.day(ofFirstIn: 1, 2100) == 47_482 && Zone.day(ofFirstIn: 3, 2100) == 47_541)
        #expect(Zone.weekday(ofDay: 0) == 4 && Zone.weekday(ofDay: 11_017) == 3)
        #expect(Zone.day(of: -1) == -1 && Zone.day(of: 86_399) == 0)
    }

    @Test("In Berlin's spring an hour is not there, and in its autumn one comes twice")
    func changes() {
        // 2027-03-28T01:00Z: 02:00 becomes 03:00.
        let spring: Int64 = 1_806_195_600
        let midnight = spring - 3_600
        #expect(Self.berlin.wall(at: spring - 1) == spring - 1 + 3_600)
        #expect(Self.berlin.wall(at: spring) == spring + 7_200)
        #expect(Self.berlin.first(midnight + 3_600 + 5_400) == spring)
        // 2027-10-31T01:00Z: 03:00 becomes 02:00.
        let autumn: Int64 = 1_824_944_400
        #expect(Self.berlin.wall(at: autumn - 1) == autumn - 1 + 7_200)
        #expect(Self.berlin.wall(at: autumn) == autumn + 3_600)
        #expect(Self.berlin.first(autumn + 3_600 + 1_800) == autumn - 1_800)
        #expect(Self.berlin.first(autumn + 7_200) == autumn + 3_600)
    }

    @Test("Agrees with the products' about rules, holidays and zones, near their ends and the changes of the clock")
    func products() throws {
        var generator = SeededGenerator(announcedBy: "CalendarTests.products")
        var dice = Dice(seed: generator.next())
        var verdicts: Set<HouseCalendar.Verdict> = []
        for _ in 0..<4_000 {
            let zone = dice.choice(Zone.all)
            let day: Int64 = 1_767_225_600 + Int64(dice.below(365 * 40)) * 86_400
            let now =
                dice.oneIn(3)
                ? Self.change(of: zone, after: day) + Int64(dice.below(14_400)) - 7_200
                : day + Int64(dice.below(86_400))
            var rules = RuleDraft(&dice).rules(at: now, in: zone)
            if dice.oneIn(2) { rules.weekly += RuleDraft(&dice).rules(at: now, in: zone).weekly }
            if dice.oneIn(2) { rules.spans += RuleDraft(&dice).rules(at: now, in: zone).spans }
            let draft = RuleDraft(&dice)
            let holiday = HouseCalendar.Holiday(span: draft.span(at: now, in: zone), isVacation: draft.isVacation)
            let calendar = HouseCalendar(zone: zone, holidays: dice.oneIn(2) ? [holiday] : [])
            let instant =
                dice.oneIn(20) ? nil : now + Int64(dice.choice([-3_600, -61, -1, 0, 1, 59, 60, 61, 3_600, 7_200]))
            let own = calendar.verdict(rules, at: instant)
            let theirs = calendar.wording.verdict(rules.validity, rules.schedules, wallClockSeconds: instant)
            #expect(
                "\(own)" == Self.names[theirs], "seed \(generator.seed): \(rules) at \(instant ?? 0) in \(calendar)")
            verdicts.insert(own)
        }
        #expect(verdicts.count == 4)
    }

    private static let names: [ScheduleVerdict: String] = [
        .within: "within", .outside: "outside", .expired: "expired", .clockUntrusted: "noClock",
    ]

    private static func change(of zone: Zone, after instant: Int64) -> Int64 {
        let before = zone.wall(at: instant) - instant
        return (0..<400).map { instant + $0 * 86_400 }.first { zone.wall(at: $0) - $0 != before } ?? instant
    }
}
