/// Until when a command may be decided on, by its sender's word: the high nibble of a command's first octet. Time counts from the
/// issue of the challenge that the command answers. The sender received that challenge no earlier than it was issued. So a bound
/// that the sender counts from the reception never ends later at the lock, and nobody compares clocks.
package struct CommandBound: RawRepresentable, Hashable, Sendable {
    package static let unitMilliseconds: UInt64 = 500
    package static let maximumMilliseconds: UInt64 = 7_000
    /// The sender sets no bound of its own: the challenge's life is the only one.
    package static let challengeLife = Self(known: 1)
    package static let longest = Self(known: 1 + UInt8(maximumMilliseconds / unitMilliseconds))

    /// 1 to 15.
    package let rawValue: UInt8

    /// nil for 0, and for what is no nibble.
    package init?(rawValue: UInt8) {
        guard (1...15).contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    private init(known: UInt8) { rawValue = known }

    /// The longest bound that does not end behind `milliseconds`; nil when even the shortest one does.
    package init?(within milliseconds: UInt64) {
        let units = min(milliseconds, Self.maximumMilliseconds) / Self.unitMilliseconds
        guard units > 0 else { return nil }
        rawValue = UInt8(units) + 1
    }

    /// From the challenge's issue on; nil where the challenge's life is the only bound.
    package var milliseconds: UInt64? {
        self == .challengeLife ? nil : UInt64(rawValue - 1) * Self.unitMilliseconds
    }
}
