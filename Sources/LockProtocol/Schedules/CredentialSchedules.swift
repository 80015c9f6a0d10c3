/// Days of the week, and a time of day on each. Matter's Week Day Schedule.
package struct WeekdaySchedule: Hashable, Sendable {
    package static let minutesOfDay = 24 * 60

    /// On which it begins.
    package let days: WeekdaySet
    package let fromMinute: Int
    /// The first minute behind it. Not later than `fromMinute`: on the next day.
    package let untilMinute: Int

    /// nil without a day, and where both minutes are the same. The whole day is 0 to 1,440.
    package init?(days: WeekdaySet, fromMinute: Int, untilMinute: Int) {
        guard !days.isEmpty, days.isSubset(of: .everyDay), 0..<Self.minutesOfDay ~= fromMinute,
            1...Self.minutesOfDay ~= untilMinute, fromMinute != untilMinute
        else { return nil }
        (self.days, self.fromMinute, self.untilMinute) = (days, fromMinute, untilMinute)
    }

    package func contains(_ time: LocalTime) -> Bool {
        let (day, minute) = (time.weekday, time.secondOfDay / 60)
        if fromMinute < untilMinute { return days.contains(WeekdaySet(day)) && fromMinute..<untilMinute ~= minute }
        // The night belongs to the day that it begins on.
        return days.contains(WeekdaySet(day)) && minute >= fromMinute
            || days.contains(WeekdaySet(day.before)) && minute < untilMinute
    }
}

/// A span of local time. Matter's Year Day Schedule.
package struct YearDaySchedule: Hashable, Sendable {
    package let from: LocalTime
    /// The first second behind it.
    package let until: LocalTime

    /// nil where it ends before it has begun.
    package init?(from: LocalTime, until: LocalTime) {
        guard from < until else { return nil }
        (self.from, self.until) = (from, until)
    }

    package func contains(_ time: LocalTime) -> Bool { from <= time && time < until }
}

/// A span of local time in which schedules do not count, for the whole lock. Matter's Holiday Schedule; it only ever takes away.
package struct HolidaySchedule: Hashable, Sendable {
    /// The first two of Matter's operating modes, under its numbers. A lock without a keypad, an inside and a bridge has no use for
    /// `privacy` and `noRemoteLockUnlock`, and `passage` would open the door to everybody.
    package enum Mode: UInt8, Sendable, CaseIterable {
        /// Week day schedules do not count.
        case normal = 0
        /// No schedule counts: only a credential without any comes in.
        case vacation = 1
    }

    package let span: YearDaySchedule
    package let mode: Mode

    package init(span: YearDaySchedule, mode: Mode) { (self.span, self.mode) = (span, mode) }
}

/// When one credential may do what its role may. Without any schedule: always.
///
/// Where there are schedules of both kinds, the time has to be in one of each.
package struct CredentialSchedules: Hashable, Sendable {
    /// As many as Matter's locks have for each user.
    package static let weekdaysMaximum = 10
    package static let yearDaysMaximum = 10

    package static let none = Self(unchecked: [], [])

    package let weekdays: [WeekdaySchedule]
    package let yearDays: [YearDaySchedule]

    private init(unchecked weekdays: [WeekdaySchedule], _ yearDays: [YearDaySchedule]) {
        (self.weekdays, self.yearDays) = (weekdays, yearDays)
    }

    /// nil with more of a kind than there may be.
    package init?(weekdays: [WeekdaySchedule] = [], yearDays: [YearDaySchedule] = []) {
        guard weekdays.count <= Self.weekdaysMaximum, yearDays.count <= Self.yearDaysMaximum else { return nil }
        self.init(unchecked: weekdays, yearDays)
    }

    package var isEmpty: Bool { weekdays.isEmpty && yearDays.isEmpty }
}

/// What one lock's schedules go by: the time zone of its door, and its holidays.
package struct LockCalendar: Hashable, Sendable {
    package static let holidaysMaximum = 10

    package static let utc = Self(unchecked: .utc, [])

    package var timeZone: TimeZoneRule
    package private(set) var holidays: [HolidaySchedule]

    private init(unchecked timeZone: TimeZoneRule, _ holidays: [HolidaySchedule]) {
        (self.timeZone, self.holidays) = (timeZone, holidays)
    }

    /// nil with more holidays than there may be.
    package init?(timeZone: TimeZoneRule, holidays: [HolidaySchedule] = []) {
        guard holidays.count <= Self.holidaysMaximum else { return nil }
        self.init(unchecked: timeZone, holidays)
    }

    package mutating func takeHolidays(of other: Self) { holidays = other.holidays }

    /// Whether a credential with these rules may do anything now. `wallClockSeconds` is nil while the clock cannot be trusted, which
    /// denies what depends on it; without a rule nothing does, on holidays either.
    package func verdict(
        _ validity: Validity, _ schedules: CredentialSchedules, wallClockSeconds: Int64?
    ) -> ScheduleVerdict {
        let verdict = validity.verdict(wallClockSeconds: wallClockSeconds)
        guard verdict == .within, !schedules.isEmpty else { return verdict }
        guard let wallClockSeconds else { return .clockUntrusted }
        let time = timeZone.scheduleTime(at: wallClockSeconds)
        if !schedules.yearDays.isEmpty, schedules.yearDays.allSatisfy({ $0.until <= time }) { return .expired }
        let holidays = holidays.filter { $0.span.contains(time) }
        if holidays.contains(where: { $0.mode == .vacation }) { return .outside }
        let isOpen =
            (schedules.yearDays.isEmpty || schedules.yearDays.contains { $0.contains(time) })
            && (schedules.weekdays.isEmpty || holidays.isEmpty && schedules.weekdays.contains { $0.contains(time) })
        return isOpen ? .within : .outside
    }
}
