/// What the clocks at a door show, by the judge's own arithmetic.
struct Zone: Hashable, Sendable {
    /// The `week`-th of a weekday in a month, the fifth is the last one; Sunday is 0. `seconds`: of the clock before the change.
    struct Change: Hashable, Sendable {
        let month: Int
        let week: Int
        let weekday: Int
        let seconds: Int64
    }

    struct Summer: Hashable, Sendable {
        /// East of UTC.
        let offset: Int64
        let begins: Change
        let ends: Change
    }

    /// As an operator writes it.
    let text: String
    /// East of UTC.
    let offset: Int64
    let summer: Summer?

    static let all = [
        Zone(text: "UTC0", offset: 0, summer: nil),
        Zone(
            text: "CET-1CEST,M3.5.0,M10.5.0/3", offset: 3_600,
            summer: Summer(
                offset: 7_200, begins: Change(month: 3, week: 5, weekday: 0, seconds: 7_200),
                ends: Change(month: 10, week: 5, weekday: 0, seconds: 10_800))),
        Zone(
            text: "NZST-12NZDT,M9.5.0,M4.1.0/3", offset: 43_200,
            summer: Summer(
                offset: 46_800, begins: Change(month: 9, week: 5, weekday: 0, seconds: 7_200),
                ends: Change(month: 4, week: 1, weekday: 0, seconds: 10_800))),
        Zone(
            text: "NST3:30NDT,M3.2.0,M11.1.0", offset: -12_600,
            summer: Summer(
                offset: -9_000, begins: Change(month: 3, week: 2, weekday: 0, seconds: 7_200),
                ends: Change(month: 11, week: 1, weekday: 0, seconds: 7_200))),
    ]

    // MARK: Days

    static let daySeconds: Int64 = 86_400

    static func day(of seconds: Int64) -> Int64 {
        seconds >= 0 ? seconds / daySeconds : -((daySeconds - 1 - seconds) / daySeconds)
    }

    /// 1970 began on a Thursday.
    static func weekday(ofDay day: Int64) -> Int { Int(((day + 4) % 7 + 7) % 7) }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && year % 100 != 0 || year % 400 == 0 }

    private static func length(of month: Int, _ year: Int) -> Int64 {
        [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    }

    /// Years and months are counted one by one.
    static func day(ofFirstIn month: Int, _ year: Int) -> Int64 {
        var day: Int64 = 0
        for passed in min(year, 1970)..<max(year, 1970) {
            day += (isLeap(passed) ? 366 : 365) * (year < 1970 ? -1 : 1)
        }
        for passed in 1..<month { day += length(of: passed, year) }
        return day
    }

    private static func local(_ change: Change, _ year: Int) -> Int64 {
        let first = day(ofFirstIn: change.month, year)
        let days = (0..<length(of: change.month, year)).map { first + $0 }.filter {
            weekday(ofDay: $0) == change.weekday
        }
        return days[min(change.week, days.count) - 1] * daySeconds + change.seconds
    }

    // MARK: Local time

    /// From when on which offset counts, for some years about an instant; the first one from ever.
    private func offsets(about instant: Int64) -> [(from: Int64, offset: Int64)] {
        guard let summer else { return [(.min, offset)] }
        let year = 1970 + Int(instant / 31_556_952)
        var changes: [(from: Int64, offset: Int64)] = []
        for year in year - 1...year + 1 {
            changes.append((Self.local(summer.begins, year) - offset, summer.offset))
            changes.append((Self.local(summer.ends, year) - summer.offset, offset))
        }
        changes.sort { $0.from < $1.from }
        let before = changes[0].offset == offset ? summer.offset : offset
        return [(.min, before)] + changes
    }

    /// What the clock on the wall shows.
    func wall(at instant: Int64) -> Int64 {
        instant + (offsets(about: instant).last { $0.from <= instant }?.offset ?? offset)
    }

    /// The first instant at which the clock on the wall shows `local`, or a later time.
    func first(_ local: Int64) -> Int64 {
        let spans = offsets(about: local)
        for (number, span) in spans.enumerated() {
            let end = number + 1 < spans.count ? spans[number + 1].from : Int64.max
            // The clock comes to it before the next change.
            if end == .max || end + span.offset > local { return max(span.from, local - span.offset) }
        }
        return local - offset
    }
}

/// When somebody may come: everything has to allow it. Local times are seconds since 1970 of the clock at the door.
struct RuleBook: Hashable, Sendable {
    struct Weekly: Hashable, Sendable {
        /// Bit 0 is Sunday.
        let days: UInt8
        let fromMinute: Int
        let untilMinute: Int
    }

    struct Span: Hashable, Sendable {
        let from: Int64
        let until: Int64
    }

    static let none = RuleBook()

    var notBefore: Int64?
    var notAfter: Int64?
    var weekly: [Weekly] = []
    var spans: [Span] = []

    var isEmpty: Bool { self == .none }
}

/// What schedules go by at one door.
struct HouseCalendar: Hashable, Sendable {
    struct Holiday: Hashable, Sendable {
        let span: RuleBook.Span
        let isVacation: Bool
    }

    enum Verdict: Hashable, Sendable { case within, outside, expired, noClock }

    var zone: Zone
    var holidays: [Holiday] = []

    private func covers(_ span: RuleBook.Span, _ instant: Int64) -> Bool {
        zone.first(span.from) <= instant && instant < zone.first(span.until)
    }

    private func covers(_ weekly: RuleBook.Weekly, _ instant: Int64) -> Bool {
        let today = Zone.day(of: zone.wall(at: instant))
        return (today - 1...today + 1).contains { day in
            guard weekly.days >> UInt8(Zone.weekday(ofDay: day)) & 1 == 1 else { return false }
            let end = weekly.untilMinute > weekly.fromMinute ? day : day + 1
            return covers(
                RuleBook.Span(
                    from: day * Zone.daySeconds + Int64(weekly.fromMinute) * 60,
                    until: end * Zone.daySeconds + Int64(weekly.untilMinute) * 60), instant)
        }
    }

    /// `instant`: nil while there is no clock that can be trusted.
    func verdict(_ rules: RuleBook, at instant: Int64?) -> Verdict {
        if rules.isEmpty { return .within }
        guard let instant else { return .noClock }
        if let end = rules.notAfter, instant >= end { return .expired }
        if let begin = rules.notBefore, instant < begin { return .outside }
        if rules.weekly.isEmpty && rules.spans.isEmpty { return .within }
        if !rules.spans.isEmpty, rules.spans.allSatisfy({ zone.first($0.until) <= instant }) { return .expired }
        let holidays = holidays.filter { covers($0.span, instant) }
        if holidays.contains(where: \.isVacation) { return .outside }
        guard rules.spans.isEmpty || rules.spans.contains(where: { covers($0, instant) }) else { return .outside }
        if rules.weekly.isEmpty { return .within }
        return holidays.isEmpty && rules.weekly.contains { covers($0, instant) } ? .within : .outside
    }
}
