import DaemonControl
import LockProtocol

/// What an operator asks of a credential's time, read. Both ends of the control socket read it: the terminal to name the option, and
/// the daemon because it takes nobody's word.
struct ScheduleRules {
    /// What is wrong, and with which member. Options have the members' names.
    struct Fault: Error, Equatable {
        let member: String
        let reason: String
    }

    let from: LocalTime?
    let until: LocalTime?
    let schedules: CredentialSchedules

    init(_ request: PeripheralRequest.Schedule) throws(Fault) {
        from = try Self.read(request.from, "from", LocalTime.init(text:))
        until = try Self.read(request.until, "until", LocalTime.init(text:))
        if let from, let until, until <= from {
            throw Fault(member: "until", reason: "\(until) is not behind the begin, \(from)")
        }
        let weekdays = try Self.read(request.weekdays, "weekdays", WeekdaySchedule.init(text:))
        let during = try Self.read(request.during, "during", YearDaySchedule.init(text:))
        if from == nil && until == nil && weekdays.isEmpty && during.isEmpty {
            throw Fault(member: "from", reason: "there is no rule: clear takes all of them away")
        }
        guard weekdays.count <= CredentialSchedules.weekdaysMaximum else {
            throw Fault(member: "weekdays", reason: "a credential has \(CredentialSchedules.weekdaysMaximum) at most")
        }
        guard let schedules = CredentialSchedules(weekdays: weekdays, yearDays: during) else {
            throw Fault(member: "during", reason: "a credential has \(CredentialSchedules.yearDaysMaximum) at most")
        }
        self.schedules = schedules
    }

    func validity(in zone: TimeZoneRule) -> Validity {
        Validity(notBeforeSeconds: from.map(zone.instant(of:)), notAfterSeconds: until.map(zone.instant(of:)))
    }

    private static func read<Value>(
        _ text: String?, _ member: String, _ read: (String) throws(ScheduleTextError) -> Value
    ) throws(Fault) -> Value? {
        guard let text else { return nil }
        do throws(ScheduleTextError) {
            return try read(text)
        } catch {
            throw Fault(member: member, reason: error.description)
        }
    }

    private static func read<Value>(
        _ texts: [String], _ member: String, _ read: (String) throws(ScheduleTextError) -> Value
    ) throws(Fault) -> [Value] {
        var values: [Value] = []
        for text in texts {
            if let value = try Self.read(text, member, read) { values.append(value) }
        }
        return values
    }
}
