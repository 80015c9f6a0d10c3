import BluetoothCore
import LockPeripheral
import LockProtocol
import Testing

extension [LockOutput] {
    /// The alarms that are told.
    var alarms: [AlarmReport] { compactMap { if case .alarm(let report) = $0 { report } else { nil } } }

    /// What a link is notified of.
    func alarms(to link: UInt64) throws -> [AlarmValue] {
        try compactMap { output in
            guard case .notifyAlarm(LockLink(rawValue: link), let octets) = output else { return nil }
            return try AlarmValue(exactly: octets)
        }
    }

    /// The audit's records.
    var records: [AuditRecord] {
        compactMap { if case .persist(.audit(let record)) = $0 { record } else { nil } }
    }
}

extension LockBench {
    /// What the last input raised. Each alarm that stands on a record leaves behind it.
    var raised: [Alarm] {
        for report in outputs.alarms {
            guard let number = report.record else { continue }
            let record = outputs.firstIndex { output in
                if case .persist(.audit(let record)) = output { record.sequence == number } else { false }
            }
            let alarm = outputs.firstIndex(of: .alarm(report))
            #expect(record.flatMap { record in alarm.map { record < $0 } } == true, "\(report) stands on no record")
        }
        return outputs.alarms.map(\.alarm)
    }

    /// The event of the record that the last input's first alarm stands on.
    var standsOn: AuditEvent? {
        let number = outputs.alarms.first?.record
        return outputs.records.first { $0.sequence == number }?.event
    }

    /// All that was raised has been told, and is owed no more.
    mutating func tellAlarms() {
        machine.alarmsTold(through: machine.alarms.reportCount)
        put(.administration(.stopped))
    }

    mutating func hearAlarms(_ link: UInt64) {
        put(.subscription(LockLink(rawValue: link), .alarm, isOn: true))
    }

    /// An opening that is under way.
    mutating func unlockUnderWay() throws -> ActuatorOrder {
        connectEncrypted(90)
        encrypted(90, unlock(try challenge(90)))
        return try #require(orders.first)
    }

    @discardableResult
    mutating func report(_ report: ActuatorReport) -> [Alarm] {
        put(.actuator(report))
        return raised
    }
}
