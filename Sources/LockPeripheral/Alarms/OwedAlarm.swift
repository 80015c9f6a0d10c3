import BluetoothCore
import LockProtocol

/// An alarm that is on record, and that nobody may have heard of yet.
package struct OwedAlarm: Hashable, Sendable {
    package let alarm: Alarm
    /// The sequence of the audit's record that it stands on.
    package let record: UInt64
    /// There are more of its kind than are told.
    package var hasMore: Bool

    package init(_ alarm: Alarm, on record: UInt64, hasMore: Bool = false) {
        self.alarm = alarm
        self.record = record
        self.hasMore = hasMore
    }

    func isSame(as other: Self) -> Bool { alarm == other.alarm && record == other.record }
}

/// As the store has it: 19 octets.
extension OwedAlarm: WireCodable {
    private static let isMore: UInt8 = 0x01
    private static let hasCredential: UInt8 = 0x02

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let (kind, cause, flags) = (try reader.readUInt8(), try reader.readUInt8(), try reader.readUInt8())
        let (record, credential) = (try reader.readUInt64(), try reader.readUInt64())
        guard flags & ~(Self.isMore | Self.hasCredential) == 0,
            flags & Self.hasCredential != 0 || credential == 0,
            let alarm = Alarm(
                AlarmKind(rawValue: kind), cause: cause,
                of: flags & Self.hasCredential == 0 ? nil : CredentialID(rawValue: credential))
        else { throw .invalidValue(field: "owed alarm") }
        self.init(alarm, on: record, hasMore: flags & Self.isMore != 0)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(alarm.kind.rawValue)
        writer.write(alarm.cause)
        writer.write((hasMore ? Self.isMore : 0) | (alarm.credential == nil ? 0 : Self.hasCredential))
        writer.write(record)
        writer.write(alarm.credential?.rawValue ?? 0)
    }
}
