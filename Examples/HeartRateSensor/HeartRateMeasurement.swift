import Foundation

/// A value of the characteristic Heart Rate Measurement, as this sensor sends it.
///
/// Heart Rate Service 1.0, 3.1.1 (Characteristic Behavior)
struct HeartRateMeasurement {
    /// Beats a minute.
    var rate: UInt16
    var hasSkinContact: Bool
    /// Kilojoules since the last reset.
    var energy: UInt16

    private static let isTwoOctets: UInt8 = 1 << 0
    private static let contactIsDetected: UInt8 = 1 << 1
    private static let contactIsSupported: UInt8 = 1 << 2
    private static let hasEnergy: UInt8 = 1 << 3

    var octets: Data {
        var flags = Self.contactIsSupported | Self.hasEnergy
        if hasSkinContact { flags |= Self.contactIsDetected }
        // Two octets for the rate only where one is too small: hearts of small animals.
        guard let short = UInt8(exactly: rate) else {
            return Data([flags | Self.isTwoOctets] + Self.octets(rate) + Self.octets(energy))
        }
        return Data([flags, short] + Self.octets(energy))
    }

    /// Least significant octet first, as in all of GATT.
    private static func octets(_ number: UInt16) -> [UInt8] {
        [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)]
    }
}
