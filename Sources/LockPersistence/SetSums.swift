import StatePersistence

/// One sum for each part of the set: ranges of credentials, and the settings.
///
/// Sixty-four ranges. Where a lock knows 10,000 keys each has 156 rows, which are three to five pages of the database, so that the first
/// command reads those and not all 300; and the seal of all sums, 1,040 octets, still lies within one page. Ids are 63 random
/// bits, so their top bits make ranges of one size, and the primary key reads one of them.
struct SetSums: Equatable {
    static let credentialPartsCount = 64
    /// Behind those of the credentials.
    static let settingsPart = 64
    static let partsCount = 65

    private static let sumOctets = 16
    /// Of the 63 bits, behind those that name the part.
    private static let partBits = 57

    private var sums = [UInt128](repeating: 0, count: partsCount)

    init() {}

    /// nil unless it is as ``octets`` makes it.
    init?(octets: [UInt8]) {
        guard octets.count == Self.partsCount * Self.sumOctets else { return nil }
        for (index, octet) in octets.enumerated() {
            sums[index / Self.sumOctets] = sums[index / Self.sumOctets] << 8 | UInt128(octet)
        }
    }

    var octets: [UInt8] { sums.flatMap { RowAuthenticator.octets($0) } }

    subscript(part: Int) -> UInt128 {
        get { sums[part] }
        set { sums[part] = newValue }
    }

    var isZero: Bool { sums.allSatisfy { $0 == 0 } }

    static func &+ (one: Self, other: Self) -> Self {
        var result = one
        for part in result.sums.indices { result.sums[part] &+= other.sums[part] }
        return result
    }

    /// Negative numbers, which no lock gives, are with the lowest.
    static func part(of credential: Int64) -> Int { credential < 0 ? 0 : Int(credential >> partBits) }

    static func credentials(of part: Int) -> ClosedRange<Int64> {
        let first = Int64(part) << partBits
        return (part == 0 ? .min : first)...(first | (1 << partBits - 1))
    }
}
