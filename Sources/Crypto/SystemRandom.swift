import COpenSSL

/// OpenSSL's random source, seeded by the kernel. For shells: cores take random octets as inputs.
package enum SystemRandom {
    package static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            if count > 0 { required(success: latch_random(buffer.baseAddress, count)) }
            initialized = count
        }
    }

    /// Written where they stay, where `octets` has room for them.
    package static func append(_ count: Int, to octets: inout [UInt8]) {
        let begin = octets.count
        octets.append(contentsOf: repeatElement(0, count: count))
        guard count > 0 else { return }
        octets.withUnsafeMutableBufferPointer { buffer in
            required(success: latch_random(buffer.baseAddress.map { $0 + begin }, count))
        }
    }

    package static func secret(_ count: Int = 16) -> Secret {
        Secret(count: count) { required(success: latch_random($0, count)) }
    }

    package static func uint32() -> UInt32 { UInt32(truncatingIfNeeded: uint128()) }

    package static func uint64() -> UInt64 { UInt64(truncatingIfNeeded: uint128()) }

    package static func uint128() -> UInt128 { bytes(16).reduce(0) { $0 << 8 | UInt128($1) } }
}
