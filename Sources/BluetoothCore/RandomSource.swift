/// Where unpredictable octets come from. Machines never draw their own: the shell hands this to the host, the host hands
/// octets to machines, and a simulator hands in a seeded one.
package protocol RandomSource {
    /// Appends `count` octets from a cryptographically secure generator.
    mutating func appendOctets(_ count: Int, to octets: inout [UInt8])
}

extension RandomSource {
    package mutating func octets(_ count: Int) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(count)
        appendOctets(count, to: &octets)
        return octets
    }

    package mutating func uint64() -> UInt64 { octets(8).reduce(0) { $0 << 8 | UInt64($1) } }

    package mutating func uint128() -> UInt128 { UInt128(uint64()) << 64 | UInt128(uint64()) }
}
