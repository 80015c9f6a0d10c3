import BluetoothCore
import LockPeripheral
import LockProtocol

@Sendable func fuzzSetupCode(_ octets: [UInt8]) {
    guard let code = try? SetupCode(parsing: String(decoding: octets, as: UTF8.self)) else { return }
    require((try? SetupCode(parsing: code.text)) == code, "a setup code does not survive its text")
}

@Sendable func fuzzScheduleText(_ octets: [UInt8]) {
    let text = String(decoding: octets, as: UTF8.self)
    func requireText<Value: Equatable & CustomStringConvertible>(_ read: (String) throws -> Value) {
        guard let value = try? read(text) else { return }
        require((try? read(value.description)) == value, "a schedule does not survive its text")
    }
    requireText(LocalTime.init(text:))
    requireText(WeekdaySchedule.init(text:))
    requireText(YearDaySchedule.init(text:))
    requireText(HolidaySchedule.init(text:))
    guard let zone = try? TimeZoneRule(text: text) else { return }
    // A year of it, from where a sum of the octets says.
    var instant = octets.reduce(0 as Int64) { ($0 &* 131 &+ Int64($1)) % 200_000_000_000 }
    var before = zone.scheduleTime(at: instant)
    for _ in 0..<366 {
        instant += 86_400
        let time = zone.scheduleTime(at: instant)
        require(before <= time, "the time that schedules go by goes back")
        before = time
        let first = zone.instant(of: time)
        require(
            first <= instant && zone.scheduleTime(at: first) >= time && zone.scheduleTime(at: first - 1) < time,
            "a time stands for another instant than the first that shows it")
    }
}

@Sendable func fuzzLockCodec(_ octets: [UInt8]) {
    requireRoundTrip(LockCommand.self, octets)
    requireRoundTrip(Challenge.self, octets)
    requireRoundTrip(Receipt.self, octets)
    requireRoundTrip(LockState.self, octets)
    requireRoundTrip(ControlPointRequest.self, octets)
    requireRoundTrip(ControlPointResponse.self, octets)
    requireRoundTrip(KeyStatus.self, octets)
    requireRoundTrip(LastCommand.self, octets)
    requireRoundTrip(AuditRecord.self, octets)
    requireRoundTrip(AuditEvent.self, octets)
    requireRoundTrip(CredentialSchedules.self, octets)
    requireRoundTrip(LockCalendar.self, octets)
    requireRoundTrip(LockSettings.self, octets)
    requireRoundTrip(Validity.self, octets)
    requireRoundTrip(ControlPointProcedure.self, octets)
    requireRoundTrip(CredentialRecord.self, octets)
    requireRoundTrip(CredentialRow.self, octets)
    requireRoundTrip(ValuePart.self, octets)
    requireRoundTrip(EnrolmentState.self, octets)
    requireRoundTrip(Capabilities.self, octets)
    requireRoundTrip(RecordAccessResponse.self, octets)
    requireRoundTrip(AuditRecordPart.self, octets)
    if let procedure = try? RecordAccessProcedure(octets) {
        let again = try? RecordAccessProcedure(procedure.encoded)
        require(again == procedure, "a request for records does not survive its encoding")
    }
    requireRoundTrip(AlarmValue.self, octets)
}

@Sendable func fuzzBoltJournal(_ octets: [UInt8]) {
    for isWhole in [true, false] {
        let end = BoltJournalEnd(octets, isWhole: isWhole)
        require(end.wholeOctets <= octets.count, "a journal has more whole octets than octets")
        require(end.isLastKnown || end.damagedLineCount > 0, "nobody knows the last line, and none is damaged")
        let text = Array(end.lines.map { $0.text + "\n" }.joined().utf8)
        let again = BoltJournalEnd(text, isWhole: true)
        require(again.lines == end.lines && again.damagedLineCount == 0, "a journal does not survive its text")
    }
}
