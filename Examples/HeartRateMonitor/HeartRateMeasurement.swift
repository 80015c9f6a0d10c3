import Foundation

/// A value of the characteristic Heart Rate Measurement, as any sensor sends it.
///
/// Heart Rate Service 1.0, 3.1.1 (Characteristic Behavior)
struct HeartRateMeasurement {
    /// Beats a minute.
    let rate: UInt16
    /// nil where the sensor cannot tell.
    let hasSkinContact: Bool?
    /// Kilojoules since the last reset; nil where the sensor does not count them.
    let energy: UInt16?

    private static let isTwoOctets: UInt8 = 1 << 0
    private static let contactIsDetected: UInt8 = 1 << 1
    private static let contactIsSupported: UInt8 = 1 << 2
    private static let hasEnergy: UInt8 = 1 << 3

    /// nil where the value is shorter than its flags say. What follows the energy, the times between beats, is not looked at.
    init?(_ value: Data) {
        var rest = value[...]
        guard let flags = rest.popFirst(), let low = rest.popFirst() else { return nil }
        if flags & Self.isTwoOctets != 0 {
            guard let high = rest.popFirst() else { return nil }
            rate = UInt16(high) << 8 | UInt16(low)
        } else {
            rate = UInt16(low)
        }
        hasSkinContact = flags & Self.contactIsSupported == 0 ? nil : flags & Self.contactIsDetected != 0
        if flags & Self.hasEnergy != 0 {
            guard let low = rest.popFirst(), let high = rest.popFirst() else { return nil }
            energy = UInt16(high) << 8 | UInt16(low)
        } else {
            energy = nil
        }
    }
}

extension HeartRateMeasurement: CustomStringConvertible {
    var description: String {
        "\(rate) bpm" + (energy.map { ", \($0) kJ" } ?? "") + (hasSkinContact == false ? ", no skin contact" : "")
    }
}
