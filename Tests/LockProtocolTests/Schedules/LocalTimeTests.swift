import Glibc
import Testing

@testable import LockProtocol

@Suite("Local time")
struct LocalTimeTests {
    @Test("Every 37th day of the years 1 to 9999 is the day that the C library says, and back")
    func calendar() throws {
        var broken = 0
        var days = LocalTime.first.seconds / 86_400
        while days * 86_400 <= LocalTime.last.seconds {
            var seconds = time_t(days * 86_400 + 12 * 3600)
            var parts = tm()
            gmtime_r(&seconds, &parts)
            let time = try #require(LocalTime(seconds: Int64(seconds)))
            let date = time.date
            let isSame =
                date.year == Int(parts.tm_year) + 1900 && date.month == Int(parts.tm_mon) + 1
                && date.day == Int(parts.tm_mday) && time.weekday.rawValue == UInt8(parts.tm_wday)
                && date.daysSince1970 == days && time.secondOfDay == 12 * 3600
                && CivilDate(year: date.year, month: date.month, day: date.day) == date
            if !isSame { broken += 1 }
            days += 37
        }
        #expect(broken == 0)
    }

    @Test(
        "Days that no calendar has",
        arguments: [
            (2026, 2, 29), (2100, 2, 29), (2026, 4, 31), (2026, 13, 1), (2026, 0, 1), (2026, 1, 0), (0, 1, 1),
            (10_000, 1, 1),
        ])
    func noDay(year: Int, month: Int, day: Int) { #expect(CivilDate(year: year, month: month, day: day) == nil) }

    @Test("Leap days", arguments: [2000, 2024, 2400])
    func leapDay(year: Int) throws {
        let day = try #require(CivilDate(year: year, month: 2, day: 29))
        #expect(CivilDate(daysSince1970: day.daysSince1970 + 1) == CivilDate(year: year, month: 3, day: 1))
    }

    @Test("The first second and the last one have a time, their neighbours have none")
    func ends() {
        #expect(LocalTime.first.description == "0001-01-01T00:00")
        #expect(LocalTime.last.description == "9999-12-31T23:59:59")
        #expect(LocalTime(seconds: LocalTime.first.seconds - 1) == nil)
        #expect(LocalTime(seconds: LocalTime.last.seconds + 1) == nil)
        #expect(LocalTime(clamping: .min) == .first)
        #expect(LocalTime(clamping: .max) == .last)
    }
}
