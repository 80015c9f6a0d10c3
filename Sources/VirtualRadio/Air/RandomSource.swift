/// Reproducible randomness (SplitMix64): the same seed gives the same air.
struct RandomSource: Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// 0 ..< 1
    mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// True with the given probability; draws nothing when that is 0 or 1.
    mutating func happens(_ probability: Double) -> Bool {
        probability > 0 && (probability >= 1 || fraction() < probability)
    }
}
