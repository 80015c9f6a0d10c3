import Glibc

/// SplitMix64. Seeded from LATCH_TEST_SEED where it is set, else at random; every test that uses it says its seed when it
/// fails.
struct SeededGenerator: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// The seed of this run.
    static let runSeed: UInt64 =
        getenv("LATCH_TEST_SEED").flatMap { UInt64(String(cString: $0)) } ?? .random(in: .min ... .max)

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
