import BluetoothCore

/// What an alarm is about, by its number on the air. Never renumbered.
package struct AlarmKind: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The door opened, or the bolt left its place, without a command while it was locked.
    package static let forced = Self(rawValue: 1)
    /// The bolt did not get where it was sent.
    package static let jam = Self(rawValue: 2)
    /// A row, the audit or the state cannot be believed, or the door's contact says so of itself.
    package static let tamper = Self(rawValue: 3)
    /// The state is older than its anchor says.
    package static let rollback = Self(rawValue: 4)
    /// The clock on the wall cannot be trusted any more.
    package static let clock = Self(rawValue: 5)
    /// Somebody has been refused too often.
    package static let refusals = Self(rawValue: 6)
    /// Somebody opened under duress.
    package static let duress = Self(rawValue: 7)
    /// Somebody is locked out for a while.
    package static let lockout = Self(rawValue: 8)
    /// The door has been open for too long.
    package static let ajar = Self(rawValue: 9)

    /// Those of this version, in their order.
    package static let known: [Self] = [.forced, .jam, .tamper, .rollback, .clock, .refusals, .duress, .lockout, .ajar]
}

/// Twenty octets: the value of Alarm (0008), as it is notified and as it is read. It says the last alarm that was told, and what there
/// was since the lock's program began.
package struct AlarmValue: WireCodable, Hashable {
    package static let octets = 20
    private static let moreFlag: UInt8 = 0x80

    /// 0: there was none.
    package var kind: AlarmKind
    /// What of its kind it is: seven bits.
    package var cause: UInt8
    /// More alarms of this kind are not told one by one for a while.
    package var hasMore: Bool
    /// The sequence of the audit's record that it stands on; 0 where there is none.
    package var record: UInt64
    /// Whom it is about; 0 for nobody who has a credential.
    package var credential: UInt64
    /// Alarms since the program began, those that were not told among them. 255 stands for more, too.
    package var count: UInt8
    /// Kinds since the program began: the bit of each kind's number less one. Kinds behind the eighth have none.
    package var kinds: UInt8

    package init(
        kind: AlarmKind, cause: UInt8, hasMore: Bool = false, record: UInt64 = 0, credential: UInt64 = 0,
        count: UInt8, kinds: UInt8
    ) {
        self.kind = kind
        self.cause = cause
        self.hasMore = hasMore
        self.record = record
        self.credential = credential
        self.count = count
        self.kinds = kinds
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        kind = AlarmKind(rawValue: try reader.readUInt8())
        let octet = try reader.readUInt8()
        cause = octet & ~Self.moreFlag
        hasMore = octet & Self.moreFlag != 0
        record = try reader.readUInt64()
        credential = try reader.readUInt64()
        count = try reader.readUInt8()
        kinds = try reader.readUInt8()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(kind.rawValue)
        writer.write(cause & ~Self.moreFlag | (hasMore ? Self.moreFlag : 0))
        writer.write(record)
        writer.write(credential)
        writer.write(count)
        writer.write(kinds)
    }

    /// Whether there was one of this kind since the program began.
    package func contains(_ kind: AlarmKind) -> Bool {
        guard (1...8).contains(kind.rawValue) else { return false }
        return kinds >> (kind.rawValue - 1) & 1 == 1
    }
}
