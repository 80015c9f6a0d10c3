import BluetoothCore

/// What a user's openings do beside opening. A user's devices have one kind in common.
/// These are UserTypeEnum of Matter's Door Lock cluster, as far as a lock without a keypad has them.
package enum UserKind: Hashable, Sendable {
    case ordinary
    /// Good for one opening, which disables it.
    case disposable
    /// Good for so many minutes, from its first opening on.
    case expiring(minutes: UInt16)
    /// Opens as any other, under somebody's threat: the lock raises the alarm and shows nothing.
    case duress

    /// Two days, as Matter has it.
    package static let minutesMaximum: UInt16 = 2_880
}

/// One octet for the kind, two for its minutes: 0 unless it has some.
extension UserKind: WireCodable {
    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let number = try reader.readUInt8()
        let minutes = try reader.readUInt16()
        guard let kind = Self(number: number, minutes: minutes) else { throw .invalidValue(field: "user kind") }
        self = kind
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(number)
        writer.write(minutes)
    }

    /// nil for what no kind has.
    package init?(number: UInt8, minutes: UInt16) {
        switch (number, minutes) {
        case (0, 0): self = .ordinary
        case (1, 0): self = .disposable
        case (2, 1...Self.minutesMaximum): self = .expiring(minutes: minutes)
        case (3, 0): self = .duress
        default: return nil
        }
    }

    package var number: UInt8 {
        switch self {
        case .ordinary: 0
        case .disposable: 1
        case .expiring: 2
        case .duress: 3
        }
    }

    package var minutes: UInt16 { if case .expiring(let minutes) = self { minutes } else { 0 } }
}
