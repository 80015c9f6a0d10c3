/// Between which signal strengths a lock's own link is near, neither, and away. In dBm.
package struct ProximityThresholds: Hashable, Sendable {
    /// A link that is this strong, or stronger, for a while is near.
    package let nearDBm: Int8
    /// One that is this weak, or weaker, for a while is away.
    package let awayDBm: Int8

    /// nil where one is outside of ``ProximityRules/dBmRange``, or less than ``ProximityRules/hysteresisMinimumDB`` is between
    /// the two.
    package init?(nearDBm: Int, awayDBm: Int) {
        guard ProximityRules.dBmRange.contains(nearDBm), ProximityRules.dBmRange.contains(awayDBm),
            nearDBm - awayDBm >= ProximityRules.hysteresisMinimumDB
        else { return nil }
        (self.nearDBm, self.awayDBm) = (Int8(nearDBm), Int8(awayDBm))
    }
}
