@testable import latch

/// Reads a QR code of the versions 1 to 6 with the error correction M, and believes nothing that is not exactly so: another hand's than what
/// draws it. ISO/IEC 18004:2015; the numbers are those of its clauses.
struct QRReader {
    enum Problem: Error, Equatable { case shape, format, errorCorrection, segment }

    private let width: Int
    private let isDark: (_ column: Int, _ row: Int) -> Bool

    /// 7.5.1, Table 9, for the level M: codewords of error correction and of data in each block, and blocks.
    private static let blocks = [(10, 16, 1), (16, 28, 1), (26, 44, 1), (18, 32, 2), (24, 43, 2), (16, 27, 4)]
    /// 7.4.4, Table 5.
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:")

    init(width: Int, isDark: @escaping (_ column: Int, _ row: Int) -> Bool) {
        self.width = width
        self.isDark = isDark
    }

    /// A code with the light that a reader wants around it, four modules on each side (6.3.8): rows of modules, true for a dark one.
    init(framed rows: [[Bool]]) throws {
        let quiet = 4
        let width = (rows.first?.count ?? 0) - 2 * quiet
        let isSquare = rows.count >= width + 2 * quiet && rows.allSatisfy { $0.count == width + 2 * quiet }
        guard width > 0, isSquare else { throw Problem.shape }
        for (number, row) in rows.enumerated() {
            for (column, isDark) in row.enumerated() where isDark {
                guard (quiet..<quiet + width).contains(column), (quiet..<quiet + width).contains(number) else {
                    throw Problem.shape
                }
            }
        }
        self.init(width: width) { rows[$1 + quiet][$0 + quiet] }
    }

    func text() throws -> String {
        let version = (width - 17) / 4
        guard width == 17 + 4 * version, Self.blocks.indices.contains(version - 1) else { throw Problem.shape }
        try requireFinders()
        let mask = try readMask()
        let (correction, data, count) = Self.blocks[version - 1]
        let codewords = self.codewords(mask)
        guard codewords.count == (correction + data) * count else { throw Problem.shape }
        var octets: [UInt8] = []
        for block in 0..<count {
            let all = (0..<data + correction).map { codewords[$0 * count + block] }
            try Self.requireIntact(all, correction)
            octets += all.prefix(data)
        }
        return try Self.read(octets)
    }

    /// 6.3.3 and 6.3.4
    private func requireFinders() throws {
        for (left, top) in [(0, 0), (width - 7, 0), (0, width - 7)] {
            for row in -1...7 {
                for column in -1...7 where (0..<width).contains(left + column) && (0..<width).contains(top + row) {
                    let ring = max(abs(column - 3), abs(row - 3))
                    guard isDark(left + column, top + row) == (ring != 2 && ring != 4) else { throw Problem.shape }
                }
            }
        }
    }

    /// 7.9.1; Annex C
    private func readMask() throws -> Int {
        let places =
            (0...5).map { ($0, 8) } + [(7, 8), (8, 8), (8, 7)] + stride(from: 5, through: 0, by: -1).map { (8, $0) }
        let bits = places.reduce(0) { $0 << 1 | (isDark($1.0, $1.1) ? 1 : 0) } ^ 0x5412
        var rest = bits
        for bit in stride(from: 14, through: 10, by: -1) where rest >> bit & 1 == 1 { rest ^= 0x537 << (bit - 10) }
        // 00: the level M.
        guard rest == 0, bits >> 13 == 0 else { throw Problem.format }
        return bits >> 10 & 7
    }

    /// 7.8.2
    private static func isInverted(_ mask: Int, _ column: Int, _ row: Int) -> Bool {
        switch mask {
        case 0: (row + column) % 2 == 0
        case 1: row % 2 == 0
        case 2: column % 3 == 0
        case 3: (row + column) % 3 == 0
        case 4: (row / 2 + column / 3) % 2 == 0
        case 5: row * column % 2 + row * column % 3 == 0
        case 6: (row * column % 2 + row * column % 3) % 2 == 0
        default: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }

    /// Finder, timing and alignment patterns, and the format information.
    private func isFunction(_ column: Int, _ row: Int) -> Bool {
        let isFinder = column < 9 && row < 9 || column >= width - 8 && row < 9 || column < 9 && row >= width - 8
        let centre = width - 7
        let isAlignment = width > 21 && abs(column - centre) <= 2 && abs(row - centre) <= 2
        return isFinder || isAlignment || column == 6 || row == 6
    }

    /// 7.7.3
    private func codewords(_ mask: Int) -> [UInt8] {
        var bits: [Bool] = []
        var isUpward = true
        for right in stride(from: width - 1, to: 0, by: -2).map({ $0 > 6 ? $0 : $0 - 1 }) {
            for step in 0..<width {
                let row = isUpward ? width - 1 - step : step
                for column in [right, right - 1] where !isFunction(column, row) {
                    bits.append(isDark(column, row) != Self.isInverted(mask, column, row))
                }
            }
            isUpward.toggle()
        }
        return stride(from: 0, through: bits.count - 8, by: 8).map { first in
            bits[first..<first + 8].reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
        }
    }

    /// 7.5.2: a multiple of the generator polynomial has no syndrome.
    private static func requireIntact(_ block: [UInt8], _ correction: Int) throws {
        func times(_ a: UInt8, _ b: UInt8) -> UInt8 {
            var (a, b, product) = (UInt16(a), b, UInt16(0))
            while b > 0 {
                if b & 1 == 1 { product ^= a }
                a <<= 1
                if a & 0x100 != 0 { a ^= 0x11D }
                b >>= 1
            }
            return UInt8(product)
        }
        var root: UInt8 = 1
        for _ in 0..<correction {
            guard block.reduce(0, { times($0, root) ^ $1 }) == 0 else { throw Problem.errorCorrection }
            root = times(root, 2)
        }
    }

    /// 7.4.2 to 7.4.5
    private static func read(_ octets: [UInt8]) throws -> String {
        var position = 0
        func take(_ count: Int) throws -> Int {
            guard position + count <= octets.count * 8 else { throw Problem.segment }
            defer { position += count }
            return (position..<position + count).reduce(0) { $0 << 1 | Int(octets[$1 / 8] >> (7 - $1 % 8) & 1) }
        }
        var text = ""
        while octets.count * 8 - position >= 4 {
            switch try take(4) {
            case 0: return text
            case 2:
                let count = try take(9)
                for _ in 0..<count / 2 {
                    let pair = try take(11)
                    guard pair < 45 * 45 else { throw Problem.segment }
                    text += [Self.alphabet[pair / 45], Self.alphabet[pair % 45]]
                }
                if count % 2 == 1 {
                    let one = try take(6)
                    guard one < 45 else { throw Problem.segment }
                    text.append(Self.alphabet[one])
                }
            case 4: for _ in 0..<(try take(8)) { text.unicodeScalars.append(Unicode.Scalar(UInt8(try take(8)))) }
            default: throw Problem.segment
            }
        }
        return text
    }
}
