import BluetoothCore

/// What a command asks of the bolt: the low nibble of its first octet. Operations that this version does not know
/// survive decoding, so that they can be refused by name.
package struct LockOperation: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    /// Takes the low four bits.
    package init(rawValue: UInt8) { self.rawValue = rawValue & 0x0F }

    package static let lock = Self(rawValue: 1)
    package static let unlock = Self(rawValue: 2)
    /// Pulls the latch for a moment.
    package static let unlatch = Self(rawValue: 3)
    /// Unlocks now and relocks shortly after, to leave by.
    package static let lockAndGo = Self(rawValue: 4)

    package static let known: [Self] = [.lock, .unlock, .unlatch, .lockAndGo]

    /// As operators write it.
    package var name: String {
        switch self {
        case .lock: "lock"
        case .unlock: "unlock"
        case .unlatch: "unlatch"
        case .lockAndGo: "lock-and-go"
        default: "operation \(rawValue)"
        }
    }
    package var isSecuring: Bool { self == .lock }
}

/// When the bolt goes back by itself: the second octet of a command.
package enum RelockArgument: Hashable, Sendable {
    /// 0: as the lock is set.
    case setting
    /// 1–254.
    case after(seconds: UInt8)
    /// 255: not before somebody locks it. A right of its own.
    case holdOpen

    package init(octet: UInt8) {
        self =
            switch octet {
            case 0: .setting
            case 255: .holdOpen
            default: .after(seconds: octet)
            }
    }

    package var octet: UInt8 {
        switch self {
        case .setting: 0
        case .after(let seconds): seconds
        case .holdOpen: 255
        }
    }
}

/// The value of the Lock Command characteristic (0002).
package struct LockCommand: WireCodable, Hashable {
    package static let octets = 8
    /// How long after the decision a bolt may still begin to open. A command's bound shortens that.
    package static let openingLifeMilliseconds: UInt64 = 2_000

    package var bound: CommandBound
    package var operation: LockOperation
    package var argument: RelockArgument
    /// What it answers, and what it is known by.
    package var challenge: ChallengeID

    package init(
        operation: LockOperation, argument: RelockArgument = .setting, bound: CommandBound = .challengeLife,
        challenge: ChallengeID
    ) {
        self.bound = bound
        self.operation = operation
        self.argument = argument
        self.challenge = challenge
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let first = try reader.readUInt8()
        guard let bound = CommandBound(rawValue: first >> 4) else { throw .invalidValue(field: "command bound") }
        self.bound = bound
        operation = LockOperation(rawValue: first)
        argument = RelockArgument(octet: try reader.readUInt8())
        challenge = try ChallengeID(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(bound.rawValue << 4 | operation.rawValue)
        writer.write(argument.octet)
        challenge.encode(into: &writer)
    }
}
