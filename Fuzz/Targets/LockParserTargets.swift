import BluetoothCore
import LockPeripheral
import LockProtocol

@Sendable func fuzzSetupCode(_ octets: [UInt8]) {
    guard let code = try? SetupCode(parsing: String(decoding: octets, as: UTF8.self)) else { return }
    require((try? SetupCode(parsing: code.text)) == code, "a setup code does not survive its text")
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
