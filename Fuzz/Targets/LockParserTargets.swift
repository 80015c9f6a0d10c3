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
}

@Sendable func fuzzBoltJournal(_ octets: [UInt8]) {
    guard let (lines, whole) = try? BoltJournal.parse(octets) else { return }
    require(whole <= octets.count, "a journal has more whole octets than octets")
    let text = lines.map { $0.text + "\n" }.joined()
    require((try? BoltJournal.parse(Array(text.utf8)))?.lines == lines, "a journal does not survive its text")
}
