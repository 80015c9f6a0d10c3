import BluetoothCore

/// Where the bolt is, as receipts and Lock State tell it.
package struct BoltCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let unknown = Self(rawValue: 0)
    package static let locked = Self(rawValue: 1)
    package static let unlocking = Self(rawValue: 2)
    package static let unlocked = Self(rawValue: 3)
    package static let locking = Self(rawValue: 4)
    package static let unlatched = Self(rawValue: 5)
    package static let jammed = Self(rawValue: 6)
}

/// The door's octet: its state in the low three bits, flags above.
package struct DoorCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// No contact is fitted, or it cannot be read.
    package static let unknown = Self(rawValue: 0)
    package static let closed = Self(rawValue: 1)
    package static let open = Self(rawValue: 2)
    package static let ajar = Self(rawValue: 3)
    /// Opened while the bolt was locked.
    package static let forced = Self(rawValue: 4)

    private static let stateMask: UInt8 = 0x07
    package static let lowBattery: UInt8 = 0x40
    package static let tamper: UInt8 = 0x80

    /// Without its flags.
    package var state: Self { Self(rawValue: rawValue & Self.stateMask) }
    package var isLowBattery: Bool { rawValue & Self.lowBattery != 0 }
    package var isTampered: Bool { rawValue & Self.tamper != 0 }
    package func with(flags: UInt8) -> Self { Self(rawValue: rawValue | flags & ~Self.stateMask) }

    /// Whether a bolt sent out now would meet no frame.
    package var standsOpen: Bool { state == .open || state == .ajar || state == .forced }
}

/// What became of a command.
package struct LockResult: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let done = Self(rawValue: 0)
    /// Granted and committed; the bolt is on its way.
    package static let accepted = Self(rawValue: 1)
    package static let challengeDead = Self(rawValue: 2)
    package static let notPermitted = Self(rawValue: 3)
    package static let outsideSchedule = Self(rawValue: 4)
    package static let credentialExpired = Self(rawValue: 5)
    package static let busy = Self(rawValue: 6)
    package static let jammed = Self(rawValue: 7)
    package static let doorOpen = Self(rawValue: 8)
    package static let clockUntrusted = Self(rawValue: 9)
    package static let lockedOut = Self(rawValue: 10)
    package static let aborted = Self(rawValue: 11)
    /// The lock is in a mode in which this is not done.
    package static let modeForbids = Self(rawValue: 12)

    /// Whether the command was granted: exactly these get an intent and an audited outcome.
    package var isGranted: Bool { self == .done || self == .accepted }
}

/// Seven octets: what a receipt seals, and the value of Lock State (0001) on an encrypted link.
package struct LockState: WireCodable, Hashable {
    package static let octets = 7

    package var bolt: BoltCode
    package var door: DoorCode
    package var result: LockResult
    /// The first four octets of the challenge that was answered; 0 when no command is meant.
    package var answered: UInt32

    package init(bolt: BoltCode, door: DoorCode, result: LockResult, answered: UInt32) {
        self.bolt = bolt
        self.door = door
        self.result = result
        self.answered = answered
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        bolt = BoltCode(rawValue: try reader.readUInt8())
        door = DoorCode(rawValue: try reader.readUInt8())
        result = LockResult(rawValue: try reader.readUInt8())
        answered = try reader.readUInt32()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(bolt.rawValue)
        writer.write(door.rawValue)
        writer.write(result.rawValue)
        writer.write(answered)
    }
}
