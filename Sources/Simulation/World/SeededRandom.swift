import BluetoothCore

/// Deterministic octets for tests: a stand-in for entropy, not for any machine under test.
package struct SeededRandom: RandomSource {
    private var state: UInt64

    package init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    package mutating func appendOctets(_ count: Int, to octets: inout [UInt8]) {
        for _ in 0..<count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            octets.append(UInt8(truncatingIfNeeded: state >> 32))
        }
    }
}
