import BluetoothCore

/// How schedules are kept. The first octet is the version: another one is not understood, and nothing rests on a guess.
private let scheduleVersion: UInt8 = 1

extension Validity: WireCodable {
    private static let hasBegin: UInt8 = 0x01
    private static let hasEnd: UInt8 = 0x02

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let flags = try reader.readUInt8()
        guard flags & ~(Self.hasBegin | Self.hasEnd) == 0 else { throw .invalidValue(field: "validity") }
        self.init()
        if flags & Self.hasBegin != 0 { notBeforeSeconds = Int64(bitPattern: try reader.readUInt64()) }
        if flags & Self.hasEnd != 0 { notAfterSeconds = Int64(bitPattern: try reader.readUInt64()) }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write((notBeforeSeconds == nil ? 0 : Self.hasBegin) | (notAfterSeconds == nil ? 0 : Self.hasEnd))
        if let notBeforeSeconds { writer.write(UInt64(bitPattern: notBeforeSeconds)) }
        if let notAfterSeconds { writer.write(UInt64(bitPattern: notAfterSeconds)) }
    }
}

extension CredentialSchedules: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        try reader.expectScheduleVersion()
        var weekdays: [WeekdaySchedule] = []
        for _ in 0..<(try reader.readCount(Self.weekdaysMaximum)) {
            weekdays.append(try WeekdaySchedule(decoding: &reader))
        }
        var yearDays: [YearDaySchedule] = []
        for _ in 0..<(try reader.readCount(Self.yearDaysMaximum)) {
            yearDays.append(try YearDaySchedule(decoding: &reader))
        }
        guard let schedules = Self(weekdays: weekdays, yearDays: yearDays) else {
            throw .invalidValue(field: "schedules")
        }
        self = schedules
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(scheduleVersion)
        writer.write(UInt8(weekdays.count))
        for schedule in weekdays { schedule.encode(into: &writer) }
        writer.write(UInt8(yearDays.count))
        for schedule in yearDays { schedule.encode(into: &writer) }
    }
}

extension LockCalendar: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        try reader.expectScheduleVersion()
        let octets = try reader.readBytes(try reader.readCount(TimeZoneRule.textOctetsMaximum))
        guard let text = String(validating: octets, as: UTF8.self), let timeZone = try? TimeZoneRule(text: text)
        else { throw .invalidValue(field: "time zone") }
        var holidays: [HolidaySchedule] = []
        for _ in 0..<(try reader.readCount(Self.holidaysMaximum)) {
            guard let mode = HolidaySchedule.Mode(rawValue: try reader.readUInt8()) else {
                throw .invalidValue(field: "operating mode")
            }
            holidays.append(HolidaySchedule(span: try YearDaySchedule(decoding: &reader), mode: mode))
        }
        guard let calendar = Self(timeZone: timeZone, holidays: holidays) else {
            throw .invalidValue(field: "holidays")
        }
        self = calendar
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(scheduleVersion)
        let text = Array(timeZone.text.utf8)
        writer.write(UInt8(text.count))
        writer.write(text)
        writer.write(UInt8(holidays.count))
        for holiday in holidays {
            writer.write(holiday.mode.rawValue)
            holiday.span.encode(into: &writer)
        }
    }
}

extension WeekdaySchedule: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let schedule = Self(
            days: WeekdaySet(rawValue: try reader.readUInt8()), fromMinute: Int(try reader.readUInt16()),
            untilMinute: Int(try reader.readUInt16()))
        guard let schedule else { throw .invalidValue(field: "week day schedule") }
        self = schedule
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(days.rawValue)
        writer.write(UInt16(fromMinute))
        writer.write(UInt16(untilMinute))
    }
}

extension YearDaySchedule: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        guard let from = LocalTime(seconds: Int64(bitPattern: try reader.readUInt64())),
            let until = LocalTime(seconds: Int64(bitPattern: try reader.readUInt64())),
            let schedule = Self(from: from, until: until)
        else { throw .invalidValue(field: "year day schedule") }
        self = schedule
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(UInt64(bitPattern: from.seconds))
        writer.write(UInt64(bitPattern: until.seconds))
    }
}

extension ByteReader {
    @_lifetime(self: copy self)
    fileprivate mutating func expectScheduleVersion() throws(DecodingError) {
        guard try readUInt8() == scheduleVersion else { throw .invalidValue(field: "schedule version") }
    }

    @_lifetime(self: copy self)
    fileprivate mutating func readCount(_ maximum: Int) throws(DecodingError) -> Int {
        let count = Int(try readUInt8())
        guard count <= maximum else { throw .invalidValue(field: "count of schedules") }
        return count
    }
}
