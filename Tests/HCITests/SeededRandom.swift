import Glibc

/// SplitMix64. Its seed comes from LATCH_TEST_SEED when that is set, and belongs in the message of whatever fails.
struct SeededRandom: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    init() {
        var system = SystemRandomNumberGenerator()
        let given = getenv("LATCH_TEST_SEED").flatMap { UInt64(String(cString: $0)) }
        self.init(seed: given ?? system.next())
        print("LATCH_TEST_SEED=\(seed)")
    }

    init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
