/// What a disk without power has kept of the writes that no flush had confirmed: any of them, in any order, and the last of them in
/// part.
enum Survivors {
    /// The part of a write that a disk makes whole or not at all.
    static let sectorOctets = 512

    /// How many octets of each write are there.
    ///
    /// Choice 0 keeps nothing, 1 everything, 2 the first of them, 3 the first of them and the next one torn, and all others are chance.
    static func chosen(_ choice: Int, of octets: [Int], seed: UInt64) -> [Int] {
        var chance = SeededRandom(seed: seed)
        switch choice {
        case 0: return octets.map { _ in 0 }
        case 1: return octets
        case 2, 3:
            let whole = octets.isEmpty ? 0 : Int.random(in: 0..<octets.count, using: &chance)
            return octets.enumerated().map { place, count in
                if place < whole { return count }
                return choice == 3 && place == whole ? torn(count, &chance) : 0
            }
        default:
            return octets.map { count in
                switch Int.random(in: 0..<8, using: &chance) {
                case 0: torn(count, &chance)
                case 1...4: count
                default: 0
                }
            }
        }
    }

    private static func torn(_ count: Int, _ chance: inout SeededRandom) -> Int {
        Int.random(in: 0..<max(1, count / sectorOctets), using: &chance) * sectorOctets
    }
}
