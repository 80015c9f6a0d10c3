/// The parameters of one command, whose length is already known to be right. Every layout here is fixed, so fields are
/// named by their offset; what lies outside reads as 0.
struct CommandParameters: ~Escapable {
    private let octets: Span<UInt8>

    @_lifetime(copy octets)
    init(_ octets: Span<UInt8>) { self.octets = octets }

    var count: Int { octets.count }

    func u8(_ offset: Int) -> UInt8 { offset >= 0 && offset < octets.count ? octets[offset] : 0 }
    func u16(_ offset: Int) -> UInt16 { UInt16(little(offset, count: 2)) }
    func i8(_ offset: Int) -> Int8 { Int8(bitPattern: u8(offset)) }
    func u24(_ offset: Int) -> UInt32 { UInt32(little(offset, count: 3)) }
    func u40(_ offset: Int) -> UInt64 { little(offset, count: 5) }
    func u48(_ offset: Int) -> UInt64 { little(offset, count: 6) }
    func u64(_ offset: Int) -> UInt64 { little(offset, count: 8) }

    func array(_ offset: Int, count: Int) -> [UInt8] { (0..<count).map { u8(offset + $0) } }

    private func little(_ offset: Int, count: Int) -> UInt64 {
        (0..<count).reduce(0) { $0 | UInt64(u8(offset + $1)) << (8 * UInt64($1)) }
    }
}

/// Writes little-endian fields after one another.
struct OctetWriter: Sendable {
    private(set) var octets: [UInt8] = []

    mutating func u8(_ value: UInt8) { octets.append(value) }
    mutating func i8(_ value: Int8) { octets.append(UInt8(bitPattern: value)) }

    mutating func u16(_ value: UInt16) {
        octets.append(UInt8(truncatingIfNeeded: value))
        octets.append(UInt8(truncatingIfNeeded: value >> 8))
    }

    mutating func u40(_ value: UInt64) { little(value, count: 5) }
    mutating func u48(_ value: UInt64) { little(value, count: 6) }
    mutating func u64(_ value: UInt64) { little(value, count: 8) }
    mutating func bytes(_ value: some Collection<UInt8>) { octets.append(contentsOf: value) }
    mutating func bytes(_ value: Span<UInt8>) { value.withUnsafeBufferPointer { octets.append(contentsOf: $0) } }
    mutating func zeros(_ count: Int) { octets.append(contentsOf: repeatElement(0, count: count)) }

    /// The kind of an address and then the address, as commands and events carry them.
    mutating func address(_ address: PeerAddress) {
        u8(address.typeOctet)
        u48(address.address.value)
    }

    mutating func patch(_ value: UInt8, at index: Int) { octets[index] = value }
    mutating func removeAll() { octets.removeAll(keepingCapacity: true) }

    private mutating func little(_ value: UInt64, count: Int) {
        for index in 0..<count { octets.append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))) }
    }
}
