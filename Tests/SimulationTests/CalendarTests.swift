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

    /// By the rules of the tz database, reckoned by hand. In Auckland (NZ rules) summer time is that of the south: it ends at 03:00 of the first
    /// Sunday in April, and begins at 02:00 of the last one in September. In St John's (Canada rules, 3:30 behind) it begins at 02:00 of the second
    /// Sunday in March, and ends at 02:00 of the first one in November.
    @Test(
        "The other zones of 2027: an hour is not there, and an hour comes twice",
        arguments: [
            // 2027-09-25T14:00Z, 2027-04-03T14:00Z.
            (Zone.all[2], 43_200, 46_800, 1_821_880_800, 1_806_760_800),
            // 2027-03-14T05:30Z, 2027-11-07T04:30Z.
            (Zone.all[3], -12_600, -9_000, 1_805_002_200, 1_825_561_800),
        ] as [(Zone, Int64, Int64, Int64, Int64)])
    func otherZones(zone: Zone, standard: Int64, summer: Int64, begin: Int64, end: Int64) {
        #expect(zone.wall(at: begin - 1) == begin - 1 + standard)
        #expect(zone.wall(at: begin) == begin + summer)
        #expect(zone.first(begin + standard + 1_800) == begin)
        #expect(zone.first(begin + summer) == begin && zone.first(begin + standard - 1) == begin - 1)
        #expect(zone.wall(at: end - 1) == end - 1 + summer)
        #expect(zone.wall(at: end) == end + standard)
        #expect(zone.first(end + standard + 1_800) == end + standard + 1_800 - summer)
        #expect(zone.first(end + summer) == end + summer - standard)
    }

    /// From the first second to the last, Mondays from 08:00 to 17:00.
    @Test(
        "The same hours on the wall in summer and in winter, north and south",
        arguments: [
            // In the south's summer: 2027-01-03T19:00Z. In its winter: 2027-06-06T20:00Z.
            (Zone.all[2], 1_799_002_800), (Zone.all[2], 1_812_312_000),
            // 2027-01-04T11:30Z, 2027-07-05T10:30Z.
            (Zone.all[3], 1_799_062_200), (Zone.all[3], 1_814_783_400),
        ] as [(Zone, Int64)])
    func hours(zone: Zone, begin: Int64) {
        let rules = RuleBook(weekly: [RuleBook.Weekly(days: 0b10, fromMinute: 8 * 60, untilMinute: 17 * 60)])
        let calendar = HouseCalendar(zone: zone)
        let verdicts = [begin - 1, begin, begin + 9 * 3_600 - 1, begin + 9 * 3_600].map {
            calendar.verdict(rules, at: $0)
        }
        #expect(verdicts == [.outside, .within, .within, .outside])
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
