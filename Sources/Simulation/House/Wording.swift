import LockProtocol

/// What the judge's words are in the products' words: as whoever asks writes them.
extension RuleBook {
    var validity: Validity { Validity(notBeforeSeconds: notBefore, notAfterSeconds: notAfter) }

    var schedules: CredentialSchedules {
        let weekdays = weekly.compactMap {
            WeekdaySchedule(
                days: WeekdaySet(rawValue: $0.days), fromMinute: $0.fromMinute, untilMinute: $0.untilMinute)
        }
        return CredentialSchedules(weekdays: weekdays, yearDays: spans.compactMap(\.yearDay)) ?? .none
    }
}

extension RuleBook.Span {
    fileprivate var yearDay: YearDaySchedule? {
        guard let from = LocalTime(seconds: from), let until = LocalTime(seconds: until) else { return nil }
        return YearDaySchedule(from: from, until: until)
    }
}

extension HouseCalendar {
    var wording: LockCalendar {
        let holidays = holidays.compactMap { holiday in
            holiday.span.yearDay.map { HolidaySchedule(span: $0, mode: holiday.isVacation ? .vacation : .normal) }
        }
        guard let zone = try? TimeZoneRule(text: zone.text) else { return .utc }
        return LockCalendar(timeZone: zone, holidays: holidays) ?? .utc
    }
}

extension Ask.Settings {
    /// With the relock times of a house.
    func wording(in mode: LockMode) -> LockSettings {
        var settings = House.settings
        settings.challengeLifeMilliseconds = challengeLifeMilliseconds
        settings.acceptsSigned = acceptsSigned
        settings.calendar = calendar.wording
        settings.mode = mode
        return settings
    }
}

extension Register {
    /// The record of a credential, as far as anybody knows who has read the lock's journal.
    func record(of tenant: Int, number: CredentialID) -> CredentialRecord {
        let standing = standings[tenant].certain ?? Standing()
        var flags: CredentialRecord.Flags = [.enrolled]
        if standing.isEnabled { flags.insert(.enabled) }
        if !standing.rules.isEmpty { flags.insert(.scheduled) }
        let whom = tenants[tenant]
        return CredentialRecord(
            id: number, role: whom.role.rawValue, flags: flags, name: whom.name, validity: standing.rules.validity,
            schedules: standing.rules.schedules, kind: whom.kind, user: whom.user == whom.name ? nil : whom.user)
    }
}
