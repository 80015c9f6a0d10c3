import DaemonControl
import LockPeripheral
import LockProtocol

/// When credentials may do anything: says it, and changes it.
extension PeripheralDaemon {
    private var calendar: LockCalendar { lock.settings.calendar }

    func answer(_ request: PeripheralRequest.Schedule, _ exchange: ControlExchange) throws(ControlFailure) {
        try requireTrust()
        switch request.act {
        case .show: try show(request.whom, exchange)
        case .clear: try administer(request.whom, .scheduled(.always, .none), exchange)
        case .set: try administer(request.whom, change(request), exchange)
        }
    }

    private func change(_ request: PeripheralRequest.Schedule) throws(ControlFailure) -> CredentialChange {
        do throws(ScheduleRules.Fault) {
            let rules = try ScheduleRules(request)
            return .scheduled(rules.validity(in: calendar.timeZone), rules.schedules)
        } catch {
            throw ControlFailure(
                .unknownRequest, "member \"\(error.member)\" of request \"schedule\": \(error.reason)")
        }
    }

    private func show(_ whom: PeripheralRequest.Whom, _ exchange: ControlExchange) throws(ControlFailure) {
        do throws(RevocationRefusal) {
            let rules = try lock.rules(of: CredentialScope(whom))
            var answer = whom.field
            answer["time_zone"] = .string(calendar.timeZone.text)
            answer["holidays"] = .array(calendar.holidays.map { .string($0.description) })
            answer["rules"] = .array(rules.map { .object($0.json(in: calendar.timeZone)) })
            exchange.finish(answer)
        } catch {
            throw ControlFailure(error)
        }
    }
}

extension CredentialRules {
    fileprivate func json(in zone: TimeZoneRule) -> JSONObject {
        var fields = JSONObject()
        fields["from"] = validity.notBeforeSeconds.map { .string(zone.scheduleTime(at: $0).description) }
        fields["until"] = validity.notAfterSeconds.map { .string(zone.scheduleTime(at: $0).description) }
        if !schedules.weekdays.isEmpty {
            fields["weekdays"] = .array(schedules.weekdays.map { .string($0.description) })
        }
        if !schedules.yearDays.isEmpty { fields["during"] = .array(schedules.yearDays.map { .string($0.description) }) }
        fields["now"] = .string(now.name)
        return fields
    }
}
