/// Chance that a seed replays: SplitMix64.
package struct Dice: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// Of one part of a whole, so that leaving another part out changes nothing here.
    package init(seed: UInt64, part: UInt64) {
        var whole = Dice(seed: seed ^ (part &+ 1) &* 0xD6E8_FEB8_6659_FD93)
        state = whole.next()
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    package mutating func one(of range: ClosedRange<Int>) -> Int { range.lowerBound + below(range.count) }

    package mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

    package mutating func choice<T>(_ all: [T]) -> T { all[below(all.count)] }
}
