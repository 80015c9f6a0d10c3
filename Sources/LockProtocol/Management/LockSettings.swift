import BluetoothCore

/// What the owner can set.
package struct LockSettings: Hashable, Sendable {
    /// What a manager may find fixed, each with a bit.
    package struct Fields: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let relock = Self(rawValue: 1 << 0)
        package static let lockAndGo = Self(rawValue: 1 << 1)
        package static let challengeLife = Self(rawValue: 1 << 2)
        package static let acceptsSigned = Self(rawValue: 1 << 3)
        package static let timeZone = Self(rawValue: 1 << 4)
        package static let holidays = Self(rawValue: 1 << 5)
        package static let all: Self = [.relock, .lockAndGo, .challengeLife, .acceptsSigned, .timeZone, .holidays]
    }

    /// An hour: a door that stays open for longer stays open until somebody locks it.
    package static let relockMaximumSeconds: UInt16 = 3_600
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
    /// Set apart from the others, by who may change it.
    package var mode: LockMode

    package init(
        relockSeconds: UInt16? = 10, lockAndGoSeconds: UInt16 = 20, challengeLifeMilliseconds: UInt64 = 5_000,
        acceptsSigned: Bool = true, calendar: LockCalendar = .utc, mode: LockMode = .normal
    ) {
        self.relockSeconds = relockSeconds
        self.lockAndGoSeconds = lockAndGoSeconds
        self.challengeLifeMilliseconds = challengeLifeMilliseconds
        self.acceptsSigned = acceptsSigned
        self.calendar = calendar
        self.mode = mode
    }

    /// Whether a lock can go by all of them.
    package var isPossible: Bool {
        let seconds = 1...Self.relockMaximumSeconds
        let milliseconds = Self.challengeLifeMinimumMilliseconds...Self.challengeLifeMaximumMilliseconds
        return relockSeconds.map(seconds.contains) ?? true && seconds.contains(lockAndGoSeconds)
            && milliseconds.contains(challengeLifeMilliseconds)
    }

    /// With `fields` as `other` has them. The mode is none of these.
    package func taking(_ fields: Fields, from other: Self) -> Self {
        var taken = self
        if fields.contains(.relock) { taken.relockSeconds = other.relockSeconds }
        if fields.contains(.lockAndGo) { taken.lockAndGoSeconds = other.lockAndGoSeconds }
        if fields.contains(.challengeLife) { taken.challengeLifeMilliseconds = other.challengeLifeMilliseconds }
        if fields.contains(.acceptsSigned) { taken.acceptsSigned = other.acceptsSigned }
        if fields.contains(.timeZone) { taken.calendar.timeZone = other.calendar.timeZone }
        if fields.contains(.holidays) { taken.calendar.takeHolidays(of: other.calendar) }
        return taken
    }
}

/// As the control point and the audit have them.
extension LockSettings: WireCodable {
    private static let relocks: UInt8 = 0x01
    private static let signed: UInt8 = 0x02
    /// The mode's number, from this bit on.
    private static let modeShift: UInt8 = 2
    private static let modeMask: UInt8 = 0x0C

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        let flags = try reader.readUInt8()
        let seconds = try reader.readUInt16()
        guard flags & ~(Self.relocks | Self.signed | Self.modeMask) == 0,
            flags & Self.relocks != 0 || seconds == 0,
            let mode = LockMode(rawValue: (flags & Self.modeMask) >> Self.modeShift)
        else {
            throw .invalidValue(field: "settings")
        }
        self.init(
            relockSeconds: flags & Self.relocks == 0 ? nil : seconds, lockAndGoSeconds: try reader.readUInt16(),
            challengeLifeMilliseconds: try reader.readUInt64(), acceptsSigned: flags & Self.signed != 0,
            calendar: try LockCalendar(decoding: &reader), mode: mode)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(
            (relockSeconds == nil ? 0 : Self.relocks) | (acceptsSigned ? Self.signed : 0)
                | mode.rawValue << Self.modeShift)
        writer.write(relockSeconds ?? 0)
        writer.write(lockAndGoSeconds)
        writer.write(challengeLifeMilliseconds)
        calendar.encode(into: &writer)
    }
}
