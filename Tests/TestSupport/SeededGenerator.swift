import Glibc

/// SplitMix64, so that a seed brings a run back. Every test that uses it says its seed when it fails, or beforehand.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// This run's seed, printed under the test's name.
    package init(announcedBy test: String) {
        self.init(seed: Self.runSeed)
        print("\(test): LATCH_TEST_SEED=\(seed)")
    }

    /// LATCH_TEST_SEED where it is set, else one of chance.
    package static let runSeed: UInt64 =
        getenv("LATCH_TEST_SEED").flatMap { UInt64(String(cString: $0)) } ?? .random(in: .min ... .max)

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
