import BluetoothCore

/// The six random octets of a challenge. A command that answers them is known by them ever after.
package struct ChallengeID: Hashable, Sendable, WireCodable, CustomStringConvertible {
    package static let octets = 6

    /// The octets as a number, the first on the air its least significant.
    package let bits: UInt64

    /// Takes the low 48 bits.
    package init(bits: UInt64) { self.bits = bits & 0xFFFF_FFFF_FFFF }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        bits = try reader.readUInt48()
    }

    package func encode(into writer: inout ByteWriter) { writer.writeUInt48(bits) }

    /// The first four octets on the air, which a receipt repeats.
    package var prefix: UInt32 { UInt32(truncatingIfNeeded: bits) }

    /// Twelve hexadecimal digits in the order of the air.
    package var description: String { HexText.encode(encoded) }
}

/// The value of the Challenge characteristic (0003): what the next command has to answer, and for how long.
package struct Challenge: WireCodable {
    package static let octets = 8
    package static let lifeUnitMilliseconds: UInt64 = 100

    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The lock takes signed commands on this link.
        package static let signedAccepted = Self(rawValue: 0x01)
        /// Nothing will be accepted before the link is encrypted.
        package static let encryptionRequired = Self(rawValue: 0x02)
    }

    package var id: ChallengeID
    /// Life left when this was sent, in units of 100 ms, rounded down: a key never believes in more than there is.
    package var remainingLife: UInt8
    package var flags: Flags

    package init(id: ChallengeID, remainingLife: UInt8, flags: Flags) {
        self.id = id
        self.remainingLife = remainingLife
        self.flags = flags
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        id = try ChallengeID(decoding: &reader)
        remainingLife = try reader.readUInt8()
        flags = Flags(rawValue: try reader.readUInt8())
    }

    package func encode(into writer: inout ByteWriter) {
        id.encode(into: &writer)
        writer.write(remainingLife)
        writer.write(flags.rawValue)
    }

    package var remainingMilliseconds: UInt64 { UInt64(remainingLife) * Self.lifeUnitMilliseconds }
}
