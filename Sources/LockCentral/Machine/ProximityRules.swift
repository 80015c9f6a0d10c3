/// What counts as near and as away, and by what a key hears of its lock.
package struct ProximityRules: Hashable, Sendable {
    /// A link that is this strong, or stronger, for a while is near.
    package var nearDBm: Int8
    /// One that is this weak, or weaker, for a while is away.
    package var awayDBm: Int8
    /// False where somebody else has the scanner, as bluetoothd has it: then links alone show anything, and the key asks for one now and
    /// then.
    package var hearsAdvertisements: Bool

    package static let usualNearDBm: Int8 = -62
    package static let usualAwayDBm: Int8 = -78
    package static let dBmRange = -110...0
    /// What lies between the two: less than that is the noise of somebody who stands still.
    package static let hysteresisMinimumDB = 6

    package init(
        nearDBm: Int8 = usualNearDBm, awayDBm: Int8 = usualAwayDBm, hearsAdvertisements: Bool = true
    ) {
        (self.nearDBm, self.awayDBm, self.hearsAdvertisements) = (nearDBm, awayDBm, hearsAdvertisements)
    }

    /// The same with a lock's own thresholds, where it has any.
    package func with(_ thresholds: ProximityThresholds?) -> Self {
        var rules = self
        if let thresholds { (rules.nearDBm, rules.awayDBm) = (thresholds.nearDBm, thresholds.awayDBm) }
        return rules
    }
}
