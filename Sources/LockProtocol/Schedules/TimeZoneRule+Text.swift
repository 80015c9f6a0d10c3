/// Why a text of schedules or time zones is none, for whoever wrote it.
package struct ScheduleTextError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}

extension TimeZoneRule {
    /// Octets of the text.
    package static let textOctetsMaximum = 64

    /// Reads the POSIX form: the standard time's name and how far west of UTC it is; with daylight time its name, its
    /// own offset if that is not one hour ahead, and the two changes as `Mmonth.week.weekday/time`. Names are letters, or
    /// stand in `<>`. Times of changes go from -167 to 167 hours, as RFC 8536 has them.
    ///
    /// Base Specifications of POSIX, 8.3 (TZ)
    ///
    /// - Throws: A ``ScheduleTextError`` that says what is missing or wrong.
    package init(text: String) throws(ScheduleTextError) {
        guard text.utf8.count <= Self.textOctetsMaximum else {
            throw ScheduleTextError("a time zone has \(Self.textOctetsMaximum) octets at most")
        }
        var reader = ZoneTextReader(text)
        try reader.name()
        guard let west = try reader.time(hours: 24, "offset from UTC, as in CET-1") else {
            throw ScheduleTextError(
                "a time zone is a name and an offset from UTC, as in \"CET-1CEST,M3.5.0,M10.5.0/3\" or \"UTC0\"")
        }
        guard !reader.isAtEnd else {
            self.init(text: text, offsetSeconds: -west)
            return
        }
        try reader.name()
        let daylightWest = try reader.time(hours: 24, "offset of daylight time") ?? west - 3600
        let begins = try reader.change()
        let ends = try reader.change()
        guard reader.isAtEnd else { throw ScheduleTextError("something follows the time zone's second change") }
        guard begins != ends else { throw ScheduleTextError("daylight time ends when it begins") }
        self.init(
            text: text, offsetSeconds: -west,
            daylight: Daylight(offsetSeconds: -daylightWest, begins: begins, ends: ends))
    }
}

private struct ZoneTextReader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    var isAtEnd: Bool { rest.isEmpty }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func takeAll(_ isIncluded: (UInt8) -> Bool) -> Int {
        var count = 0
        while let octet = rest.first, isIncluded(octet) {
            rest.removeFirst()
            count += 1
        }
        return count
    }

    private static func isLetter(_ octet: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= octet | 0x20
    }

    private static func isDigit(_ octet: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= octet }

    mutating func name() throws(ScheduleTextError) {
        let isQuoted = take("<")
        let count = takeAll { octet in
            Self.isLetter(octet)
                || isQuoted && (Self.isDigit(octet) || octet == UInt8(ascii: "+") || octet == UInt8(ascii: "-"))
        }
        guard !isQuoted || take(">") else { throw ScheduleTextError("a name in <> has letters, digits, + and -") }
        guard count >= 3 else {
            throw ScheduleTextError(
                "a time zone's name has three letters at least, as CET has; other names stand in <>")
        }
    }

    private mutating func number(_ range: ClosedRange<Int64>, _ what: String) throws(ScheduleTextError) -> Int64 {
        var number: Int64 = 0
        var count = 0
        while let octet = rest.first, Self.isDigit(octet), count < 4 {
            number = number * 10 + Int64(octet - UInt8(ascii: "0"))
            rest.removeFirst()
            count += 1
        }
        guard count > 0, range ~= number else {
            throw ScheduleTextError("a time zone's \(what) is from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Seconds; nil where no time begins here.
    mutating func time(hours: Int64, _ what: String) throws(ScheduleTextError) -> Int64? {
        let isNegative = take("-")
        guard isNegative || take("+") || rest.first.map(Self.isDigit) ?? false else { return nil }
        var seconds = try number(0...hours, "hours (\(what))") * 3600
        if take(":") {
            seconds += try number(0...59, "minutes (\(what))") * 60
            if take(":") { seconds += try number(0...59, "seconds (\(what))") }
        }
        return isNegative ? -seconds : seconds
    }

    mutating func change() throws(ScheduleTextError) -> TimeZoneRule.Change {
        guard take(","), take("M") else {
            throw ScheduleTextError(
                "behind the name of daylight time stand its two changes as month, week and weekday, as in "
                    + "\",M3.5.0,M10.5.0/3\"")
        }
        let month = try number(1...12, "month")
        guard take(".") else { throw ScheduleTextError("a change is month, week and weekday, as in M3.5.0") }
        let week = try number(1...5, "week (5 is the last)")
        guard take(".") else { throw ScheduleTextError("a change is month, week and weekday, as in M3.5.0") }
        let weekday = try number(0...6, "weekday (0 is Sunday)")
        var seconds: Int64 = 2 * 3600
        if take("/") {
            guard let time = try time(hours: 167, "time of a change") else {
                throw ScheduleTextError("behind the / of a change stands its time, as in M10.5.0/3")
            }
            seconds = time
        }
        return TimeZoneRule.Change(
            month: Int(month), week: Int(week), weekday: Weekday(rawValue: UInt8(weekday)) ?? .sunday,
            seconds: seconds)
    }
}
