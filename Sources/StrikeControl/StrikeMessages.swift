import BluetoothCore

/// What the lock's daemon and the keeper of its strike say to each other, on a unix socket that keeps messages apart (SOCK_SEQPACKET).
/// docs/PROTOCOL.md, "The strike's keeper".
package enum StrikeProtocol {
    package static let version: UInt8 = 2
    /// The longest of all.
    package static let messageMaximumOctets = 22
}

/// Kept by its number.
package enum StrikeMovement: UInt8, Sendable, CaseIterable {
    case lock = 1
    case unlock = 2
    case unlatch = 3
}

/// Where the bolt rests, by its feedback, or else by the line.
package enum StrikePosition: UInt8, Sendable, CaseIterable {
    case unknown = 0
    case locked = 1
    case unlocked = 2
    case jammed = 3
}

/// How an order ended.
package enum StrikeResult: UInt8, Sendable, CaseIterable {
    case locked = 2
    case unlocked = 3
    case jammed = 4
    /// It may have moved.
    case unknown = 5
    /// It did not move at all.
    case declined = 6
}

/// One movement of the lock's, under the name that its audit gives it.
package struct StrikeOrder: Hashable, Sendable {
    /// 0 is a lock that nobody could write down.
    package var intent: UInt64
    package var movement: StrikeMovement
    /// How long a pulse is to be. The keeper's configuration may make it shorter, and never longer.
    package var pulseMilliseconds: UInt32
    /// In boot time: an opening that would begin later does not.
    package var notAfter: Instant?

    package init(intent: UInt64, movement: StrikeMovement, pulseMilliseconds: UInt32, notAfter: Instant?) {
        self.intent = intent
        self.movement = movement
        self.pulseMilliseconds = pulseMilliseconds
        self.notAfter = notAfter
    }
}

/// From the daemon.
package enum StrikeRequest: Hashable, Sendable, WireCodable {
    /// The first message of a connection.
    case hello(version: UInt8)
    case order(StrikeOrder)

    private enum Kind {
        static let hello: UInt8 = 0x01
        static let order: UInt8 = 0x02
    }

    /// No instant.
    private static let never = UInt64.max

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        switch try reader.readUInt8() {
        case Kind.hello: self = .hello(version: try reader.readUInt8())
        case Kind.order:
            guard let movement = StrikeMovement(rawValue: try reader.readUInt8()) else {
                throw .invalidValue(field: "movement")
            }
            let intent = try reader.readUInt64()
            let pulse = try reader.readUInt32()
            let notAfter = try reader.readUInt64()
            self = .order(
                StrikeOrder(
                    intent: intent, movement: movement, pulseMilliseconds: pulse,
                    notAfter: notAfter == Self.never ? nil : Instant(nanoseconds: notAfter)))
        default: throw .invalidValue(field: "message")
        }
    }

    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .hello(let version):
            writer.write(Kind.hello)
            writer.write(version)
        case .order(let order):
            writer.write(Kind.order)
            writer.write(order.movement.rawValue)
            writer.write(order.intent)
            writer.write(order.pulseMilliseconds)
            writer.write(order.notAfter?.nanoseconds ?? Self.never)
        }
    }
}

/// How everything stands.
package struct StrikeStatus: Hashable, Sendable {
    /// The order that was taken last, and its end; nil in place of that while it is carried out.
    package struct Last: Hashable, Sendable {
        package var intent: UInt64
        package var result: StrikeResult?

        package init(intent: UInt64, result: StrikeResult?) {
            self.intent = intent
            self.result = result
        }
    }

    package enum Contact: UInt8, Sendable, CaseIterable {
        /// There is none, or it cannot be read.
        case unknown = 0
        case closed = 1
        case open = 2
    }

    package var position: StrikePosition
    package var contact: Contact
    package var isTampered: Bool
    package var isFire: Bool
    /// Whether the chip can be spoken to.
    package var hasChip: Bool
    /// nil while this keeper has taken none.
    package var last: Last?

    package init(
        position: StrikePosition, contact: Contact = .unknown, isTampered: Bool = false, isFire: Bool = false,
        hasChip: Bool = true, last: Last? = nil
    ) {
        self.position = position
        self.contact = contact
        self.isTampered = isTampered
        self.isFire = isFire
        self.hasChip = hasChip
        self.last = last
    }
}

/// From the keeper.
package enum StrikeReport: Hashable, Sendable, WireCodable {
    /// The answer to hello: when this keeper began, in boot time. Of what was ordered before, it knows nothing.
    case welcome(began: Instant)
    /// Behind that, and whenever something has changed.
    case status(StrikeStatus)
    /// Once for each order.
    case ended(intent: UInt64, StrikeResult)
    /// Somebody inside has pressed the button.
    case exit
    /// The answer to a hello of another version than this one; the connection ends.
    case unsupported(version: UInt8)

    private enum Kind {
        static let status: UInt8 = 0x81
        static let ended: UInt8 = 0x82
        static let exit: UInt8 = 0x83
        static let unsupported: UInt8 = 0x84
        static let welcome: UInt8 = 0x85
    }

    private enum Flag {
        static let tamper: UInt8 = 0x01
        static let fire: UInt8 = 0x02
        static let noChip: UInt8 = 0x04
        static let all = tamper | fire | noChip
    }

    private enum Progress {
        static let nothing: UInt8 = 0
        static let underWay: UInt8 = 1
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        switch try reader.readUInt8() {
        case Kind.status: self = .status(try Self.status(&reader))
        case Kind.ended:
            let intent = try reader.readUInt64()
            self = .ended(intent: intent, try Self.result(try reader.readUInt8()))
        case Kind.exit: self = .exit
        case Kind.unsupported: self = .unsupported(version: try reader.readUInt8())
        case Kind.welcome: self = .welcome(began: Instant(nanoseconds: try reader.readUInt64()))
        default: throw .invalidValue(field: "message")
        }
    }

    private static func result(_ number: UInt8) throws(DecodingError) -> StrikeResult {
        guard let result = StrikeResult(rawValue: number) else { throw .invalidValue(field: "result") }
        return result
    }

    private static func status(_ reader: inout ByteReader) throws(DecodingError) -> StrikeStatus {
        guard let position = StrikePosition(rawValue: try reader.readUInt8()) else {
            throw .invalidValue(field: "position")
        }
        guard let contact = StrikeStatus.Contact(rawValue: try reader.readUInt8()) else {
            throw .invalidValue(field: "contact")
        }
        let flags = try reader.readUInt8()
        guard flags & ~Flag.all == 0 else { throw .invalidValue(field: "flags") }
        let intent = try reader.readUInt64()
        let progress = try reader.readUInt8()
        var last: StrikeStatus.Last?
        switch progress {
        case Progress.nothing:
            guard intent == 0 else { throw .invalidValue(field: "intent") }
        case Progress.underWay: last = StrikeStatus.Last(intent: intent, result: nil)
        default: last = StrikeStatus.Last(intent: intent, result: try result(progress))
        }
        return StrikeStatus(
            position: position, contact: contact, isTampered: flags & Flag.tamper != 0, isFire: flags & Flag.fire != 0,
            hasChip: flags & Flag.noChip == 0, last: last)
    }

    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .status(let status):
            writer.write(Kind.status)
            writer.write(status.position.rawValue)
            writer.write(status.contact.rawValue)
            writer.write(
                (status.isTampered ? Flag.tamper : 0) | (status.isFire ? Flag.fire : 0)
                    | (status.hasChip ? 0 : Flag.noChip))
            writer.write(status.last?.intent ?? 0)
            writer.write(status.last.map { $0.result?.rawValue ?? Progress.underWay } ?? Progress.nothing)
        case .ended(let intent, let result):
            writer.write(Kind.ended)
            writer.write(intent)
            writer.write(result.rawValue)
        case .exit: writer.write(Kind.exit)
        case .unsupported(let version):
            writer.write(Kind.unsupported)
            writer.write(version)
        case .welcome(let began):
            writer.write(Kind.welcome)
            writer.write(began.nanoseconds)
        }
    }
}
