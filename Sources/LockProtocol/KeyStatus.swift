import BluetoothCore

/// How far a command has come.
package struct CommandPhase: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let none = Self(rawValue: 0)
    package static let refused = Self(rawValue: 1)
    /// Committed; the bolt may be on its way.
    package static let accepted = Self(rawValue: 2)
    package static let done = Self(rawValue: 3)
    /// Accepted, and known not to have been carried out.
    package static let aborted = Self(rawValue: 4)
    /// Accepted; a restart or a fault hides whether the bolt moved.
    package static let unknown = Self(rawValue: 5)

    package var isOutcome: Bool { self == .done || self == .aborted || self == .unknown }
}

/// The last command that the lock took from a bond, whether it granted or refused it.
package struct LastCommand: WireCodable, Hashable {
    package var challenge: ChallengeID
    /// The SignCounter of a signed command; nil for an encrypted one. 0 is a counter like any other.
    package var signCounter: UInt32?
    package var result: LockResult
    package var phase: CommandPhase

    package init(challenge: ChallengeID, signCounter: UInt32?, result: LockResult, phase: CommandPhase) {
        self.challenge = challenge
        self.signCounter = signCounter
        self.result = result
        self.phase = phase
    }

    private static let hasSignCounter: UInt8 = 0x01

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let flags = try reader.readUInt8()
        guard flags & ~Self.hasSignCounter == 0 else { throw .invalidValue(field: "last command flags") }
        challenge = try ChallengeID(decoding: &reader)
        let counter = try reader.readUInt32()
        guard flags != 0 || counter == 0 else { throw .invalidValue(field: "sign counter") }
        signCounter = flags == 0 ? nil : counter
        result = LockResult(rawValue: try reader.readUInt8())
        phase = CommandPhase(rawValue: try reader.readUInt8())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(signCounter == nil ? 0 : Self.hasSignCounter)
        challenge.encode(into: &writer)
        writer.write(signCounter ?? 0)
        writer.write(result.rawValue)
        writer.write(phase.rawValue)
    }
}

/// The parameters of a Key Status response: 3 octets without a command, 16 with one. Behind the response's three they
/// still fit the smallest ATT_MTU.
package struct KeyStatus: WireCodable, Hashable {
    package var role: UInt8
    package var rights: Rights
    /// nil when the lock has never taken a command of this bond.
    package var lastCommand: LastCommand?

    package init(role: UInt8, rights: Rights, lastCommand: LastCommand?) {
        self.role = role
        self.rights = rights
        self.lastCommand = lastCommand
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        role = try reader.readUInt8()
        rights = Rights(rawValue: try reader.readUInt16())
        lastCommand = reader.remaining == 0 ? nil : try LastCommand(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(role)
        writer.write(rights.rawValue)
        lastCommand?.encode(into: &writer)
    }
}
