/// A signed command as it went over the air.
///
/// Core 6.2, Vol 3, Part F, 3.4.5.4 (ATT_SIGNED_WRITE_CMD)
struct SignedWrite: Hashable, Sendable {
    static let opcode: UInt8 = 0xD2
    static let octetCount = 23

    /// Boot time in nanoseconds.
    var at: UInt64
    var octets: [UInt8]
    var counter: UInt32
    /// Of the attribute written.
    var handle: UInt16
    /// The challenge that it answers, in the order of the air.
    var challenge: String

    /// nil for anything but a command of the Lock profile.
    init?(_ pdu: [UInt8], at: UInt64) {
        var reader = OctetReader(pdu)
        guard pdu.count == Self.octetCount, reader.integer(1, as: UInt8.self) == Self.opcode,
            let handle = reader.integer(2, as: UInt16.self), reader.bytes(2) != nil, let challenge = reader.bytes(6),
            let counter = reader.integer(4, as: UInt32.self)
        else { return nil }
        self.at = at
        octets = pdu
        self.counter = counter
        self.handle = handle
        self.challenge = hex(challenge)
    }
}
