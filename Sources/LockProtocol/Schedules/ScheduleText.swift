import BluetoothCore

// What operators write and read: local times, spans and week day schedules.

extension LocalTime: CustomStringConvertible {
    /// Reads ISO 8601's extended form with the time of day, such as `2026-12-24T08:00`. `24:00` is the day's end.
    ///
    /// - Throws: A ``ScheduleTextError``.
    package init(text: String) throws(ScheduleTextError) {
        let parts = text.split(separator: "T", omittingEmptySubsequences: false)
        let date = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, date.count == 3, date[0].utf8.count == 4, let year = Self.number(date[0], digits: 4),
            let month = Self.number(date[1], digits: 2), let day = Self.number(date[2], digits: 2),
            let second = Self.secondOfDay(parts[1])
        else {
            throw ScheduleTextError(
                "\"\(text)\" is no local time: write day and time of day, without a zone, as in 2026-12-24T08:00")
        }
        guard let date = CivilDate(year: year, month: month, day: day),
            let time = Self(seconds: date.daysSince1970 * Self.secondsOfDay + Int64(second))
        else { throw ScheduleTextError("\"\(text)\": the calendar has no such day") }
        self = time
    }

    package var description: String {
        let (date, second) = (date, secondOfDay)
        let day = "\(Self.padded(date.year, 4))-\(Self.padded(date.month, 2))-\(Self.padded(date.day, 2))"
        let seconds = second % 60 == 0 ? "" : ":" + Self.padded(second % 60, 2)
        return "\(day)T\(Self.padded(second / 3600, 2)):\(Self.padded(second / 60 % 60, 2))\(seconds)"
    }

    /// `hh:mm` or `hh:mm:ss`, up to 24:00; nil for anything else.
    fileprivate static func secondOfDay(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard 2...3 ~= parts.count, let hour = number(parts[0], digits: 2), let minute = number(parts[1], digits: 2),
            let second = parts.count == 3 ? number(parts[2], digits: 2) : 0, minute < 60, second < 60
        else { return nil }
        let all = hour * 3600 + minute * 60 + second
        return all <= Int(secondsOfDay) ? all : nil
    }

    fileprivate static func padded(_ number: Int, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    private static func number(_ text: Substring, digits: Int) -> Int? {
        text.utf8.count == digits ? Int(digits: text) : nil
    }
}

extension YearDaySchedule: CustomStringConvertible {
    /// Reads two local times with a slash between them, as ISO 8601 writes a span.
    ///
    /// - Throws: A ``ScheduleTextError``.
    package init(text: String) throws(ScheduleTextError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw ScheduleTextError(
                "\"\(text)\" is no span: write its begin and its end, as in 2026-12-24T08:00/2026-12-26T20:00")
        }
        let (from, until) = (try LocalTime(text: String(parts[0])), try LocalTime(text: String(parts[1])))
        guard let schedule = Self(from: from, until: until) else {
            throw ScheduleTextError("\"\(text)\" ends before it has begun")
        }
        self = schedule
    }

    package var description: String { "\(from)/\(until)" }
}

extension HolidaySchedule: CustomStringConvertible {
    /// Reads a span, and behind a space its operating mode if that is not `normal`.
    ///
    /// - Throws: A ``ScheduleTextError``.
    package init(text: String) throws(ScheduleTextError) {
        let words = text.split(separator: " ")
        guard 1...2 ~= words.count else {
            throw ScheduleTextError(
                "\"\(text)\" is no holiday: write a span, and \"vacation\" where no schedule counts, as in "
                    + "2026-12-24T00:00/2026-12-26T24:00 vacation")
        }
        let mode = words.count == 1 ? .normal : Mode.allCases.first { "\($0)" == words[1] }
        guard let mode else {
            throw ScheduleTextError("\"\(words[1])\" is no mode of a holiday: write normal or vacation")
        }
        self.init(span: try YearDaySchedule(text: String(words[0])), mode: mode)
    }

    package var description: String { mode == .normal ? "\(span)" : "\(span) \(mode)" }
}

extension LockCalendar {
    /// Reads a time zone, and holidays with commas between them.
    ///
    /// - Throws: A ``ScheduleTextError``.
    package init(timeZone: String, holidays: String?) throws(ScheduleTextError) {
        let zone = try TimeZoneRule(text: timeZone)
        var list: [HolidaySchedule] = []
        for text in holidays?.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
            list.append(try HolidaySchedule(text: String(text)))
        }
        guard let calendar = Self(timeZone: zone, holidays: list) else {
            throw ScheduleTextError("a lock has \(Self.holidaysMaximum) holidays at most")
        }
        self = calendar
    }
}

extension CredentialSchedules {
    /// Reads week day schedules with semicolons between them, such as `mon-fri 08:00-17:00; sat 09:00-12:00`.
    ///
    /// - Throws: A ``ScheduleTextError``.
    package init(weekdays text: String) throws(ScheduleTextError) {
        var list: [WeekdaySchedule] = []
        for part in text.split(separator: ";", omittingEmptySubsequences: false) {
            let bare = part.drop { $0 == " " }
            list.append(try WeekdaySchedule(text: String(bare)))
        }
        guard let schedules = Self(weekdays: list) else {
            throw ScheduleTextError("there are \(Self.weekdaysMaximum) week day schedules at most")
        }
        self = schedules
    }
}

extension WeekdaySet: CustomStringConvertible {
    /// From Monday on, as ISO 8601 counts.
    private static let names: [(name: Substring, day: Weekday)] = [
        ("mon", .monday), ("tue", .tuesday), ("wed", .wednesday), ("thu", .thursday), ("fri", .friday),
        ("sat", .saturday), ("sun", .sunday),
    ]

    /// Reads days and ranges of days with commas between them, such as `mon-fri` or `sat,sun`.
    ///
    /// - Throws: A ``ScheduleTextError``.
    package init(text: String) throws(ScheduleTextError) {
        self = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false)
                .map { end in Self.names.firstIndex { $0.name == end } }
            guard 1...2 ~= ends.count, let first = ends[0], let last = ends[ends.count - 1] else {
                throw ScheduleTextError(
                    "\"\(part)\" is no day of the week: write mon, tue, wed, thu, fri, sat or sun, or a range as in mon-fri"
                )
            }
            for step in 0...(last - first + 7) % 7 { insert(Self(Self.names[(first + step) % 7].day)) }
        }
    }

    package var description: String {
        var runs: [[Substring]] = []
        var isRunning = false
        for (name, day) in Self.names {
            let isIncluded = contains(Self(day))
            if isIncluded, isRunning {
                runs[runs.count - 1].append(name)
            } else if isIncluded {
                runs.append([name])
            }
            isRunning = isIncluded
        }
        return runs.map { run in
            run.count > 2 ? "\(run[0])-\(run[run.count - 1])" : run.joined(separator: ",")
        }.joined(separator: ",")
    }
}

extension WeekdaySchedule: CustomStringConvertible {
    /// Reads days, and two times of day with a hyphen between them, such as `mon-fri 08:00-17:00`. An end that is not behind the begin is
    /// on the next day.
    ///
    /// - Throws: A ``ScheduleTextError``.
    package init(text: String) throws(ScheduleTextError) {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2 else {
            throw ScheduleTextError("\"\(text)\": write days and times of day, as in mon-fri 08:00-17:00")
        }
        try self.init(days: try WeekdaySet(text: String(words[0])), between: String(words[1]))
    }

    /// Reads the times of day of `days`.
    ///
    /// - Throws: A ``ScheduleTextError``.
    package init(days: WeekdaySet, between: String) throws(ScheduleTextError) {
        let ends = between.split(separator: "-", omittingEmptySubsequences: false).map(LocalTime.secondOfDay)
        guard ends.count == 2, let from = ends[0], let until = ends[1], from % 60 == 0, until % 60 == 0 else {
            throw ScheduleTextError("\"\(between)\" is no span of a day: write it as in 08:00-17:00")
        }
        // The end of a night is also its last midnight.
        let untilMinute = until == 0 && from != 0 ? Self.minutesOfDay : until / 60
        guard let schedule = Self(days: days, fromMinute: from / 60, untilMinute: untilMinute) else {
            throw ScheduleTextError("\"\(between)\" has no minute: the whole day is 00:00-24:00")
        }
        self = schedule
    }

    package var description: String {
        func time(_ minute: Int) -> String { LocalTime.padded(minute / 60, 2) + ":" + LocalTime.padded(minute % 60, 2) }
        return "\(days) \(time(fromMinute))-\(time(untilMinute))"
    }
}
