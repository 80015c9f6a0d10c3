import LockProtocol
import TestSupport
import Testing

@Suite("Schedules as text")
struct ScheduleTextTests {
    @Test(
        "Week day schedules: what is written, and what is said back",
        arguments: [
            ("mon-fri 08:00-17:00", "mon-fri 08:00-17:00"), ("sat,sun 09:30-12:00", "sat,sun 09:30-12:00"),
            ("fri-mon 22:00-06:00", "mon,fri-sun 22:00-06:00"),
            ("mon,tue,wed,sun 00:00-24:00", "mon-wed,sun 00:00-24:00"),
            ("mon-sun 22:00-00:00", "mon-sun 22:00-24:00"), ("wed-wed 00:00-00:01", "wed 00:00-00:01"),
        ])
    func weekdays(text: String, said: String) throws {
        let schedule = try WeekdaySchedule(text: text)
        #expect(schedule.description == said)
        #expect(try WeekdaySchedule(text: said) == schedule)
    }

    @Test("Every set of days says itself")
    func everySet() throws {
        for bits in 1...0x7F as ClosedRange<UInt8> {
            let days = WeekdaySet(rawValue: bits)
            #expect(try WeekdaySet(text: days.description) == days)
        }
    }

    @Test(
        "Texts that are no week day schedule, and what is said of them",
        arguments: [
            ("", "days and times"), ("mon", "days and times"), ("mon 08:00-17:00 x", "days and times"),
            ("mo 08:00-17:00", "\"mo\" is no day"), ("mon, 08:00-17:00", "\"\" is no day"),
            ("mon-fri-sun 08:00-17:00", "is no day"), ("mon 8:00-17:00", "no span of a day"),
            ("mon 08:00", "no span of a day"), ("mon 08:00-25:00", "no span of a day"),
            ("mon 08:60-17:00", "no span of a day"), ("mon 08:00:30-17:00", "no span of a day"),
            ("mon 08:00-08:00", "has no minute"), ("mon 00:00-00:00", "has no minute"),
            ("mon 24:00-08:00", "has no minute"),
        ])
    func noWeekdays(text: String, reason: String) throws {
        let error = #expect(throws: ScheduleTextError.self) { try WeekdaySchedule(text: text) }
        #expect(try #require(error).description.contains(reason))
    }

    @Test("Random times and spans say themselves")
    func random() throws {
        var generator = SeededGenerator(announcedBy: "ScheduleTextTests.random")
        let range = LocalTime.first.seconds...LocalTime.last.seconds
        for _ in 0..<2000 {
            let ends = (0..<2).map { _ in Int64.random(in: range, using: &generator) }.sorted()
            let times = try ends.map { try #require(LocalTime(seconds: $0)) }
            #expect(try LocalTime(text: times[0].description) == times[0])
            guard let span = YearDaySchedule(from: times[0], until: times[1]) else { continue }
            #expect(try YearDaySchedule(text: span.description) == span)
            for mode in HolidaySchedule.Mode.allCases {
                let holiday = HolidaySchedule(span: span, mode: mode)
                #expect(try HolidaySchedule(text: holiday.description) == holiday)
            }
        }
    }

    @Test("Midnight at a day's end is that at the next one's begin")
    func midnight() throws {
        #expect(try LocalTime(text: "2026-12-31T24:00") == LocalTime(text: "2027-01-01T00:00"))
    }

    @Test(
        "Texts that are no local time, and what is said of them",
        arguments: [
            ("2026-12-24", "as in 2026-12-24T08:00"), ("2026-12-24T08:00Z", "without a zone"),
            ("2026-12-24T08:00+01:00", "without a zone"), ("2026-12-24 08:00", "as in"), ("26-12-24T08:00", "as in"),
            ("2026-12-24T24:01", "as in"), ("2026-12-24T08:00:60", "as in"), ("2026-12-+4T08:00", "as in"),
            ("2026-02-29T08:00", "no such day"), ("9999-12-31T24:00", "no such day"), ("", "as in"),
            ("٢٠٢٦-12-24T08:00", "as in"),
        ])
    func noTime(text: String, reason: String) throws {
        let error = #expect(throws: ScheduleTextError.self) { try LocalTime(text: text) }
        #expect(try #require(error).description.contains(reason))
    }

    @Test(
        "Texts that are no span and no holiday, and what is said of them",
        arguments: [
            ("2026-12-24T08:00", "begin and its end"), ("2026-12-24T08:00/2026-12-24T08:00", "before it has begun"),
            ("2026-12-24T08:00/x", "no local time"), ("2026-12-24T08:00/2026-12-25T08:00 passage", "no mode"),
            ("2026-12-24T08:00/2026-12-25T08:00 vacation x", "no holiday"), ("", "no holiday"),
        ])
    func noHoliday(text: String, reason: String) throws {
        let error = #expect(throws: ScheduleTextError.self) { try HolidaySchedule(text: text) }
        #expect(try #require(error).description.contains(reason))
    }
}
