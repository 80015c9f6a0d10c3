/// A day of the week, numbered as POSIX and Matter do.
package enum Weekday: UInt8, Sendable, CaseIterable {
    case sunday = 0
    case monday, tuesday, wednesday, thursday, friday, saturday

    init(daysSince1970 days: Int64) {
        // 1970 began on a Thursday.
        let number = UInt8(truncatingIfNeeded: LocalTime.remainder(days + 4, by: 7))
        self = Self(rawValue: number) ?? .sunday
    }

    var before: Self { Self(rawValue: (rawValue + 6) % 7) ?? .sunday }
}

/// Days of the week. A bit's number is that of its day, as in Matter's DaysMaskMap.
package struct WeekdaySet: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package init(_ day: Weekday) { self.init(rawValue: 1 << day.rawValue) }

    package static let everyDay = Self(rawValue: 0x7F)
}

/// A day of the proleptic Gregorian calendar.
package struct CivilDate: Hashable, Sendable {
    /// The years that have four digits.
    package static let years = 1...9999

    package let year: Int
    package let month: Int
    package let day: Int

    /// nil where the calendar has no such day.
    package init?(year: Int, month: Int, day: Int) {
        guard Self.years.contains(year), 1...12 ~= month, day >= 1, day <= Self.days(in: month, of: year) else {
            return nil
        }
        (self.year, self.month, self.day) = (year, month, day)
    }

    init(daysSince1970: Int64) {
        // Years begin in March here, so that a leap day is the last of its year.
        let days = daysSince1970 - Self.days(toMarchOf: 0)
        // A year begins a day and a half before 365.2425 days for each of those before it, or later: the estimate is never below.
        var year = LocalTime.quotient((days + 2) * 400, by: Self.daysOf400Years)
        while Self.days(toMarchOf: year) - Self.days(toMarchOf: 0) > days { year -= 1 }
        let dayOfYear = days - Self.days(toMarchOf: year) + Self.days(toMarchOf: 0)
        let months = (Self.daysFromMarch.firstIndex { $0 > dayOfYear } ?? 12) - 1
        self.year = Int(year) + (months > 9 ? 1 : 0)
        month = (months + 2) % 12 + 1
        day = Int(dayOfYear) - Self.daysFromMarch[months] + 1
    }

    package var daysSince1970: Int64 { Self.daysSince1970(year: year, month: month, day: day) }

    /// For any year, and days that may lie beyond their month. `month` is 1...12.
    static func daysSince1970(year: Int, month: Int, day: Int) -> Int64 {
        let march = days(toMarchOf: Int64(month < 3 ? year - 1 : year))
        return march + Int64(daysFromMarch[(month + 9) % 12] + day - 1)
    }

    static func days(in month: Int, of year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 && !isLeap ? 28 : lengths[month - 1]
    }

    private static let lengths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    /// To the first of March, April and so on to February.
    private static let daysFromMarch = [0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337]
    private static let daysOf400Years: Int64 = 146_097

    /// From the first of January 1970 to the first of March of `year`.
    private static func days(toMarchOf year: Int64) -> Int64 {
        let leaps =
            LocalTime.quotient(year, by: 4) - LocalTime.quotient(year, by: 100) + LocalTime.quotient(year, by: 400)
        return 365 * year + leaps - 719_468
    }
}

/// A clock on the wall: seconds since 1970-01-01T00:00 of that clock. In the years 1 to 9999.
package struct LocalTime: Hashable, Comparable, Sendable {
    package static let first = Self(unchecked: -62_135_596_800)
    package static let last = Self(unchecked: 253_402_300_799)
    static let secondsOfDay: Int64 = 86_400

    package let seconds: Int64

    private init(unchecked seconds: Int64) { self.seconds = seconds }

    /// nil outside of the years 1 to 9999.
    package init?(seconds: Int64) {
        guard Self.first.seconds...Self.last.seconds ~= seconds else { return nil }
        self.seconds = seconds
    }

    /// The nearest that there is.
    init(clamping seconds: Int64) {
        self.seconds = min(max(seconds, Self.first.seconds), Self.last.seconds)
    }

    package static func < (one: Self, other: Self) -> Bool { one.seconds < other.seconds }

    private var daysSince1970: Int64 { Self.quotient(seconds, by: Self.secondsOfDay) }

    package var date: CivilDate { CivilDate(daysSince1970: daysSince1970) }
    package var weekday: Weekday { Weekday(daysSince1970: daysSince1970) }
    package var secondOfDay: Int { Int(Self.remainder(seconds, by: Self.secondsOfDay)) }

    /// Rounds down, also below zero.
    static func quotient(_ number: Int64, by divisor: Int64) -> Int64 {
        number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
    }

    static func remainder(_ number: Int64, by divisor: Int64) -> Int64 {
        number - quotient(number, by: divisor) * divisor
    }
}
