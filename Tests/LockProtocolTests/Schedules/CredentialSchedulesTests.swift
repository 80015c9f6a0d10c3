import BluetoothCore
import Glibc
import TestSupport
import Testing

@testable import LockProtocol

@Suite("Schedules")
struct CredentialSchedulesTests {
    private static let berlin = "CET-1CEST,M3.5.0,M10.5.0/3"
    private static let sydney = "AEST-10AEDT,M10.1.0,M4.1.0/3"

    private func calendar(_ zone: String = "UTC0", holidays: String...) throws -> LockCalendar {
        let holidays = try holidays.map { (text) throws(ScheduleTextError) in try HolidaySchedule(text: text) }
        return try #require(LockCalendar(timeZone: try TimeZoneRule(text: zone), holidays: holidays))
    }

    private func schedules(_ weekdays: String..., during: [String] = []) throws -> CredentialSchedules {
        try #require(
            CredentialSchedules(
                weekdays: try weekdays.map { (text) throws(ScheduleTextError) in try WeekdaySchedule(text: text) },
                yearDays: try during.map { (text) throws(ScheduleTextError) in try YearDaySchedule(text: text) }))
    }

    /// When the verdict changes, as UTC, from the first of these days on.
    private func openings(
        _ schedules: CredentialSchedules, _ calendar: LockCalendar, from: String, days: Int64, step: Int = 60
    ) throws -> [String] {
        let begin = try LocalTime(text: from + "T00:00").seconds
        var (was, changes) = (false, [String]())
        for instant in stride(from: begin, to: begin + days * 86_400, by: step) {
            let isOpen = calendar.verdict(.always, schedules, wallClockSeconds: instant) == .within
            if isOpen != was { changes.append(try #require(LocalTime(seconds: instant)).description) }
            was = isOpen
        }
        return changes
    }

    // MARK: A year against another computation

    /// The seven days of a week, minute by minute, filled in by counting.
    private struct Week {
        var isOpen = [[Bool]](repeating: [Bool](repeating: false, count: 1440), count: 7)

        init(_ schedules: [(days: [Int], from: Int, until: Int)]) {
            for schedule in schedules {
                for day in schedule.days {
                    var (weekday, minute) = (day, schedule.from)
                    repeat {
                        isOpen[weekday][minute] = true
                        minute += 1
                        if minute == 1440 { (weekday, minute) = ((weekday + 1) % 7, 0) }
                    } while minute != schedule.until % 1440
                }
            }
        }
    }

    @Test(
        "A year by minutes, random schedules, both changes of the clock: each verdict is that of a table of minutes",
        arguments: [
            (berlin, 3600, 1_774_746_000, 1_792_890_000), (sydney, 36_000, 1_791_043_200, 1_775_318_400),
        ])
    func year(zone: String, standard: Int64, daylightBegins: Int64, daylightEnds: Int64) throws {
        var generator = SeededGenerator(announcedBy: "CredentialSchedulesTests.year")
        let begin: Int64 = 1_767_225_600
        let calendar = try calendar(zone)
        let drawn = (0..<3).map { _ in
            let from = Int.random(in: 0..<1440, using: &generator)
            let length = Int.random(in: 1..<1440, using: &generator)
            let days = (0..<7).filter { _ in Bool.random(using: &generator) }
            return (days: days.isEmpty ? [3] : days, from: from, until: (from + length - 1) % 1440 + 1)
        }
        let week = Week(drawn)
        let weekdays = drawn.compactMap { schedule in
            WeekdaySchedule(
                days: WeekdaySet(schedule.days.map { WeekdaySet(rawValue: 1 << UInt8($0)) }), fromMinute: schedule.from,
                untilMinute: schedule.until)
        }
        #expect(weekdays.count == drawn.count)
        let schedules = try #require(CredentialSchedules(weekdays: weekdays))
        var (broken, latest, open) = (0, Int64.min, 0)
        for instant in stride(from: begin, to: begin + 365 * 86_400, by: 60) {
            let isBetween = instant >= min(daylightBegins, daylightEnds) && instant < max(daylightBegins, daylightEnds)
            let isDaylight = isBetween == (daylightBegins < daylightEnds)
            // A clock that is put back stands still instead, in its last minute.
            latest = max(latest, instant + standard + (isDaylight ? 3600 : 0))
            var local = time_t(latest)
            var parts = tm()
            gmtime_r(&local, &parts)
            let isOpen = week.isOpen[Int(parts.tm_wday)][Int(parts.tm_hour * 60 + parts.tm_min)]
            let verdict = calendar.verdict(.always, schedules, wallClockSeconds: instant)
            if verdict != (isOpen ? .within : .outside) { broken += 1 }
            open += isOpen ? 1 : 0
        }
        #expect(broken == 0)
        #expect(open > 0)
    }

    // MARK: Both changes

    @Test("The hour that does not exist: what lies in it is empty, what goes beyond it begins with the change")
    func skippedHour() throws {
        let calendar = try calendar(Self.berlin)
        // 01:00 UTC is 03:00 CEST.
        #expect(try openings(try schedules("sun 02:00-03:00"), calendar, from: "2026-03-29", days: 1) == [])
        #expect(try openings(try schedules("sun 02:15-02:45"), calendar, from: "2026-03-29", days: 1) == [])
        #expect(
            try openings(try schedules("sun 02:30-03:30"), calendar, from: "2026-03-29", days: 1, step: 1)
                == ["2026-03-29T01:00", "2026-03-29T01:30"])
        #expect(
            try openings(try schedules("sun 01:30-02:30"), calendar, from: "2026-03-29", days: 1)
                == ["2026-03-29T00:30", "2026-03-29T01:00"])
        let during = try schedules(during: ["2026-03-29T02:15/2026-03-29T02:45"])
        #expect(try openings(during, calendar, from: "2026-03-29", days: 1) == [])
    }

    @Test("The hour that comes twice: each schedule is open once, and what ends in it ends the first time")
    func doubledHour() throws {
        let calendar = try calendar(Self.berlin)
        // 02:00 CEST is 00:00 UTC, 02:00 CET is 01:00 UTC, 03:00 CET is 02:00 UTC.
        #expect(
            try openings(try schedules("sun 02:00-03:00"), calendar, from: "2026-10-25", days: 1)
                == ["2026-10-25T00:00", "2026-10-25T02:00"])
        #expect(
            try openings(try schedules("sun 02:15-02:45"), calendar, from: "2026-10-25", days: 1, step: 1)
                == ["2026-10-25T00:15", "2026-10-25T00:45"])
        #expect(
            try openings(try schedules("sun 02:30-03:30"), calendar, from: "2026-10-25", days: 1)
                == ["2026-10-25T00:30", "2026-10-25T02:30"])
        let during = try schedules(during: ["2026-10-25T01:00/2026-10-25T02:30"])
        #expect(
            try openings(during, calendar, from: "2026-10-24", days: 2) == ["2026-10-24T23:00", "2026-10-25T00:30"])
    }

    // MARK: Each kind

    @Test("A night belongs to the day that it begins on")
    func night() throws {
        #expect(
            try openings(try schedules("fri 22:00-06:00"), try calendar(), from: "2026-11-25", days: 7)
                == ["2026-11-27T22:00", "2026-11-28T06:00"])
        #expect(
            try openings(try schedules("sat 22:00-00:00"), try calendar(), from: "2026-11-25", days: 7)
                == ["2026-11-28T22:00", "2026-11-29T00:00"])
    }

    @Test("Of both kinds of schedules the time has to be in one; of one kind, any is enough")
    func kinds() throws {
        let both = try schedules(
            "mon 08:00-09:00", "wed 08:00-09:00",
            during: ["2026-11-25T08:30/2026-11-26T00:00", "2026-12-07T00:00/2026-12-07T08:15"])
        #expect(
            try openings(both, try calendar(), from: "2026-11-23", days: 16)
                == ["2026-11-25T08:30", "2026-11-25T09:00", "2026-12-07T08:00", "2026-12-07T08:15"])
    }

    @Test("Behind the last of all spans a credential is expired; before and between them it is outside")
    func expired() throws {
        let twice = try schedules(during: ["2026-11-25T00:00/2026-11-26T00:00", "2026-11-28T00:00/2026-11-29T00:00"])
        let verdicts: [(String, ScheduleVerdict)] = [
            ("2026-11-24T23:59:59", .outside), ("2026-11-25T00:00", .within), ("2026-11-27T00:00", .outside),
            ("2026-11-28T23:59:59", .within), ("2026-11-29T00:00", .expired),
        ]
        for (time, verdict) in verdicts {
            let instant = try LocalTime(text: time).seconds
            #expect(try calendar().verdict(.always, twice, wallClockSeconds: instant) == verdict, "\(time)")
        }
    }

    @Test("Holidays take away: normal ones the week day schedules, vacation every schedule, neither who has none")
    func holidays() throws {
        let calendar = try calendar(
            holidays: "2026-12-24T00:00/2026-12-26T24:00", "2026-12-29T00:00/2026-12-29T24:00 vacation")
        let daily = try schedules("mon-sun 08:00-09:00")
        let span = try schedules(during: ["2026-12-23T00:00/2027-01-01T00:00"])
        let both = try schedules("mon-sun 08:00-09:00", during: ["2026-12-23T00:00/2027-01-01T00:00"])
        func days(_ schedules: CredentialSchedules) throws -> [Int] {
            try (22...31).filter { day in
                let instant = try LocalTime(text: "2026-12-\(day)T08:30").seconds
                return calendar.verdict(.always, schedules, wallClockSeconds: instant) == .within
            }
        }
        #expect(try days(daily) == [22, 23, 27, 28, 30, 31])
        #expect(try days(span) == [23, 24, 25, 26, 27, 28, 30, 31])
        #expect(try days(both) == [23, 27, 28, 30, 31])
        #expect(try days(.none) == Array(22...31))
    }

    @Test("A clock that is not trusted denies whoever has a rule, and nobody else")
    func untrusted() throws {
        let calendar = try calendar(holidays: "2000-01-01T00:00/2099-01-01T00:00 vacation")
        #expect(calendar.verdict(.always, .none, wallClockSeconds: nil) == .within)
        #expect(
            calendar.verdict(.always, try schedules("mon-sun 00:00-24:00"), wallClockSeconds: nil) == .clockUntrusted)
        let span = try schedules(during: ["2000-01-01T00:00/2099-01-01T00:00"])
        #expect(calendar.verdict(.always, span, wallClockSeconds: nil) == .clockUntrusted)
        let validity = Validity(notAfterSeconds: .max)
        #expect(calendar.verdict(validity, .none, wallClockSeconds: nil) == .clockUntrusted)
    }

    @Test("Validity comes first: what is expired is no longer outside, and no schedule makes it good")
    func validity() throws {
        let daily = try schedules("mon-sun 00:00-24:00")
        let validity = Validity(notBeforeSeconds: 100, notAfterSeconds: 200)
        for (now, verdict) in [(99, .outside), (100, .within), (200, .expired)] as [(Int64, ScheduleVerdict)] {
            #expect(try calendar().verdict(validity, daily, wallClockSeconds: now) == verdict)
        }
    }

    // MARK: Bounds

    @Test("A credential has ten schedules of each kind, and one more of either makes none")
    func credentialBounds() throws {
        let weekday = try WeekdaySchedule(text: "mon 08:00-09:00")
        let span = try YearDaySchedule(text: "2026-11-25T00:00/2026-11-26T00:00")
        let (ten, eleven) = ([weekday].repeated(10), [weekday].repeated(11))
        #expect(CredentialSchedules(weekdays: ten, yearDays: [span].repeated(10)) != nil)
        #expect(CredentialSchedules(weekdays: eleven) == nil)
        #expect(CredentialSchedules(yearDays: [span].repeated(11)) == nil)
    }

    @Test("A lock has ten holidays, and not one more")
    func holidayBound() throws {
        let holiday = try HolidaySchedule(text: "2026-12-24T00:00/2026-12-26T24:00")
        #expect(LockCalendar(timeZone: .utc, holidays: [holiday].repeated(10)) != nil)
        #expect(LockCalendar(timeZone: .utc, holidays: [holiday].repeated(11)) == nil)
    }

    @Test("Schedules that are none: no day, no minute, beyond the day, or ended before they began")
    func none() throws {
        #expect(WeekdaySchedule(days: [], fromMinute: 0, untilMinute: 1440) == nil)
        #expect(WeekdaySchedule(days: WeekdaySet(rawValue: 0x80), fromMinute: 0, untilMinute: 1440) == nil)
        #expect(WeekdaySchedule(days: .everyDay, fromMinute: 1440, untilMinute: 1) == nil)
        #expect(WeekdaySchedule(days: .everyDay, fromMinute: 1, untilMinute: 1441) == nil)
        #expect(WeekdaySchedule(days: .everyDay, fromMinute: 60, untilMinute: 60) == nil)
        #expect(WeekdaySchedule(days: .everyDay, fromMinute: 60, untilMinute: 0) == nil)
        let time = try LocalTime(text: "2026-11-25T00:00")
        #expect(YearDaySchedule(from: time, until: time) == nil)
    }

    // MARK: As octets

    @Test("Round trip, every strict prefix refused, an octet more, another version, and one more than there may be")
    func octets() throws {
        let schedules = try schedules(
            "mon-fri 08:00-17:00", "sat 22:00-06:00", during: ["2026-11-25T08:30/2026-11-26T00:00"])
        let calendar = try calendar(Self.berlin, holidays: "2026-12-24T00:00/2026-12-26T24:00 vacation")
        try expectCodec(schedules)
        try expectCodec(calendar)
        var many = CredentialSchedules.none.encoded
        many[1] = 11
        many += [UInt8](repeating: 1, count: 11 * 5)
        #expect(throws: DecodingError.self) { try CredentialSchedules(exactly: many) }
        #expect(throws: DecodingError.self) { try LockCalendar(exactly: [1, 3] + Array("CET".utf8) + [0]) }
    }

    private func expectCodec<Value: WireCodable>(_ value: Value) throws {
        let octets = value.encoded
        #expect(try Value(exactly: octets) == value)
        for count in octets.indices {
            #expect(throws: DecodingError.self) { try Value(exactly: Array(octets.prefix(count))) }
        }
        #expect(throws: DecodingError.self) { try Value(exactly: octets + [0]) }
        #expect(throws: DecodingError.self) { try Value(exactly: [2] + octets.dropFirst()) }
    }
}

extension Array {
    fileprivate func repeated(_ count: Int) -> Self { (0..<count).flatMap { _ in self } }
}
