/// What the clocks at the door's place show: an offset from UTC, and where there is daylight time the two changes of each year.
///
/// It is written as the variable TZ of POSIX is, such as `CET-1CEST,M3.5.0,M10.5.0/3` (`TimeZoneRule.init(text:)`).
///
/// **Schedules go by a clock that never goes back.** A schedule's time stands for the first instant at which the clock on the wall
/// shows that time or a later one. So a time that the clock jumps over stands for the instant of the jump. A time that the clock
/// shows twice stands for the first of both, and while the hour comes for the second time, ``scheduleTime(at:)`` stays in its
/// last second. Thus each schedule's span is one span of instants, in the order in which it was written.
package struct TimeZoneRule: Hashable, Sendable {
    /// A day of the year by month, week and weekday, and a time of day before the change.
    struct Change: Hashable, Sendable {
        /// 1...12
        var month: Int
        /// 1...5, the fifth is the month's last.
        var week: Int
        var weekday: Weekday
        /// From that day's midnight; may lie days away from it.
        var seconds: Int64

        /// What the clock shows when it is changed, were it not.
        func local(in year: Int) -> Int64 {
            let first = CivilDate.daysSince1970(year: year, month: month, day: 1)
            let ahead = (Int(weekday.rawValue) + 7 - Int(Weekday(daysSince1970: first).rawValue)) % 7
            var day = ahead + (week - 1) * 7
            if day >= CivilDate.days(in: month, of: year) { day -= 7 }
            return (first + Int64(day)) * LocalTime.secondsOfDay + seconds
        }
    }

    struct Daylight: Hashable, Sendable {
        /// East of UTC.
        var offsetSeconds: Int64
        var begins: Change
        var ends: Change
    }

    /// As the operator wrote it.
    package let text: String
    /// East of UTC.
    let offsetSeconds: Int64
    let daylight: Daylight?

    init(text: String, offsetSeconds: Int64, daylight: Daylight? = nil) {
        self.text = text
        self.offsetSeconds = offsetSeconds
        self.daylight = daylight
    }

    package static let utc = Self(text: "UTC0", offsetSeconds: 0)

    /// The time that schedules go by at an instant, in seconds since 1970. It stands still where the clock on the wall is put back.
    package func scheduleTime(at instant: Int64) -> LocalTime {
        let instant = LocalTime(clamping: instant).seconds
        guard let daylight else { return LocalTime(clamping: instant + offsetSeconds) }
        let year = LocalTime(clamping: instant + offsetSeconds).date.year
        var shown: (since: Int64, offset: Int64) = (.min, offsetSeconds)
        var latest = Int64.min
        func consider(_ local: Int64, from before: Int64, to behind: Int64) {
            guard local - before <= instant else { return }
            if local - before >= shown.since { shown = (local - before, behind) }
            latest = max(latest, local - 1)
        }
        // A change may lie in another year of UTC, or of its own rule.
        for year in year - 1...year + 1 {
            consider(daylight.begins.local(in: year), from: offsetSeconds, to: daylight.offsetSeconds)
            consider(daylight.ends.local(in: year), from: daylight.offsetSeconds, to: offsetSeconds)
        }
        return LocalTime(clamping: max(instant + shown.offset, latest))
    }

    /// The instant, in seconds since 1970, that a schedule's time stands for.
    package func instant(of time: LocalTime) -> Int64 {
        let offsets = [offsetSeconds, daylight?.offsetSeconds ?? offsetSeconds]
        var early = time.seconds - (offsets.max() ?? 0)
        var late = time.seconds - (offsets.min() ?? 0)
        while early < late {
            let middle = LocalTime.quotient(early + late, by: 2)
            if scheduleTime(at: middle) < time { early = middle + 1 } else { late = middle }
        }
        return early
    }
}
