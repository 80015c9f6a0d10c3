import BluetoothCore

/// What the owner can set.
package struct LockSettings: Hashable, Sendable {
    package static let challengeLifeMinimumMilliseconds: UInt64 = 1_000
    /// As much as a challenge's octet can say.
    package static let challengeLifeMaximumMilliseconds: UInt64 = 25_500

    /// After an unlock that names no time; nil leaves the bolt open until somebody locks it.
    package var relockSeconds: UInt16?
    /// After lock-and-go, when the command names no time.
    package var lockAndGoSeconds: UInt16
    /// Out of bounds, the nearest bound counts.
    package var challengeLifeMilliseconds: UInt64
    /// Off: every command has to come over an encrypted link.
    package var acceptsSigned: Bool
    /// What schedules go by.
    package var calendar: LockCalendar

    package init(
        relockSeconds: UInt16? = 10, lockAndGoSeconds: UInt16 = 20, challengeLifeMilliseconds: UInt64 = 5_000,
        acceptsSigned: Bool = true, calendar: LockCalendar = .utc
    ) {
        self.relockSeconds = relockSeconds
        self.lockAndGoSeconds = lockAndGoSeconds
        self.challengeLifeMilliseconds = challengeLifeMilliseconds
        self.acceptsSigned = acceptsSigned
        self.calendar = calendar
    }
}

/// As the control point and the audit have them.
extension LockSettings: WireCodable {
    private static let relocks: UInt8 = 0x01
    private static let signed: UInt8 = 0x02

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let flags = try reader.readUInt8()
        let seconds = try reader.readUInt16()
        guard flags & ~(Self.relocks | Self.signed) == 0, flags & Self.relocks != 0 || seconds == 0 else {
            throw .invalidValue(field: "settings")
        }
        self.init(
            relockSeconds: flags & Self.relocks == 0 ? nil : seconds, lockAndGoSeconds: try reader.readUInt16(),
            challengeLifeMilliseconds: try reader.readUInt64(), acceptsSigned: flags & Self.signed != 0,
            calendar: try LockCalendar(decoding: &reader))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write((relockSeconds == nil ? 0 : Self.relocks) | (acceptsSigned ? Self.signed : 0))
        writer.write(relockSeconds ?? 0)
        writer.write(lockAndGoSeconds)
        writer.write(challengeLifeMilliseconds)
        calendar.encode(into: &writer)
    }
}
