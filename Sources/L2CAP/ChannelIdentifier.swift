/// The channel of a link that a PDU belongs to.
///
/// Core 5.4, Vol 3, Part A, 2.1 (Channel Identifiers)
package struct ChannelIdentifier: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let attributeProtocol = Self(rawValue: 0x0004)
    package static let leSignalling = Self(rawValue: 0x0005)
    package static let securityManagerProtocol = Self(rawValue: 0x0006)

    /// Core 5.4, Vol 3, Part A, 2.1 (Table 2.3): what an LE-U link allocates to credit-based channels.
    package static let dynamicRange: ClosedRange<UInt16> = 0x0040...0x007F

    package var isDynamic: Bool { Self.dynamicRange.contains(rawValue) }
}
