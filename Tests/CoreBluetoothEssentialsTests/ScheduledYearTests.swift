import BluetoothCore
import LockCentral
import LockPeripheral
import LockProtocol
import Simulation
import Testing
import WorldSupport

/// A guest's key at a door in Berlin, from January 2027 for a year. The lock is off the air between two of its visits: it is launched
/// anew, or its clock is a visit further, in turn.
@Suite("A year of schedules over the air", .capturesFailures)
struct ScheduledYearTests {
    /// 15 January 2027, 08:00 UTC. Visits are in minutes after this.
    private static let begin: Int64 = 1_800_000_000
    /// Whether the IANA database's Europe/Berlin takes such an instant for a weekday from 08:00 to 17:00 or a Sunday from 01:30 to 02:30, and
    /// not for one from 2 August to 15 August.
    ///
    /// 28 March has no 02:30. 31 October has two, and behind the first one no schedule begins again.
    private static let within: [Int64] = [
        4261, 4798, 14341, 34501, 35038, 54661, 64741, 65278, 74821, 94981, 95518, 103240, 103255, 115081, 125161,
        125698, 135241, 155401, 155938, 175561, 185641, 186178, 195721, 215881, 216418, 236041, 246121, 246658,
        256201, 276361, 276898, 284625, 306601, 306660, 307138, 316681, 336841, 337378, 357001, 367081, 367618,
        377161, 397321, 397858, 415660, 415675, 415690, 415705, 417541, 427621, 428158, 437701,
        457861, 458398, 478021, 488101, 488638, 498181, 518341,
    ]
    private static let outside: [Int64] = [
        4259, 4801, 14339, 34499, 35041, 54659, 64739, 65281, 74819, 94979, 95521, 103150, 103165, 103180, 103195,
        103210, 103225, 103270, 103285, 103300, 103315, 103330, 115079, 125159, 125701, 135239, 155399, 155941,
        175559, 185639, 186181, 195719, 215879, 216421, 236039, 246119, 246661, 256199, 276359, 276901, 286500,
        294705, 296519, 296521, 302760, 306599, 307141, 316679, 336839, 337381, 356999, 367079, 367621, 377159,
        397319, 397861, 415630, 415645, 415720, 415735, 415750, 415765, 415780, 415795, 415810, 417539, 427619, 428161,
        437699,
        457859, 458401, 478019, 488099, 488641, 498179, 518339,
    ]

    @Test(
        "The door opens within the schedule and not outside, on working days, holidays and both changes of the clocks")
    func year() throws {
        let calendar = LockCalendar(
            timeZone: try TimeZoneRule(text: "CET-1CEST,M3.5.0,M10.5.0/3"),
            holidays: [try HolidaySchedule(text: "2027-08-02T00:00/2027-08-16T00:00")])
        let bolt = PromptBolt()
        let household = try Household(bolt: bolt, settings: LockSettings(calendar: try #require(calendar)))
        household.clockRuns = true
        try household.enrollToTheEnd("guest", .guest)
        let schedules = CredentialSchedules(weekdays: [
            try WeekdaySchedule(text: "mon-fri 08:00-17:00"), try WeekdaySchedule(text: "sun 01:30-02:30"),
        ])
        let change = CredentialChange.scheduled(.always, try #require(schedules))
        try household.call(household.door) { _ = try household.lock?.administer("guest", change) }

        let visits = (Self.within.map { ($0, true) } + Self.outside.map { ($0, false) }).sorted { $0.0 < $1.0 }
        for (place, (minute, isWithin)) in visits.enumerated() {
            if place % 2 == 0 { household.killLock() }
            let worldSeconds = Int64(household.world.now.nanoseconds / 1_000_000_000)
            household.wallClockSeconds = Self.begin + minute * 60 - worldSeconds
            if place % 2 == 0 { household.launchLock() }
            let opened = bolt.openings
            let verdict = household.verdict()
            #expect(verdict == (isWithin ? .accepted : .refused(.outsideSchedule)), "minute \(minute)")
            household.world.run(forMilliseconds: 30_000)
            #expect((bolt.openings == opened + 1) == isWithin, "minute \(minute)")
        }
    }
}
