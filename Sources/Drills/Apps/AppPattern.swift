/// What a line has to look like: `*` stands for anything, all else for itself.
struct AppPattern: Hashable, Sendable, CustomStringConvertible {
    let text: String
    /// What has to be there, in this order; between the parts is anything.
    private let pieces: [[UInt8]]

    init(_ text: String) {
        self.text = text
        pieces = text.split(separator: "*", omittingEmptySubsequences: false).map { Array($0.utf8) }
    }

    var description: String { "\"\(text)\"" }

    func matches(_ line: String) -> Bool {
        let octets = Array(line.utf8)
        guard let first = pieces.first, let last = pieces.last, octets.starts(with: first) else { return false }
        guard pieces.count > 1 else { return octets == first }
        var rest = octets.dropFirst(first.count)
        for piece in pieces.dropFirst().dropLast() {
            guard let found = Self.find(piece, in: rest) else { return false }
            rest = rest[(found + piece.count)...]
        }
        return rest.count >= last.count && rest.suffix(last.count).elementsEqual(last)
    }

    private static func find(_ piece: [UInt8], in octets: ArraySlice<UInt8>) -> Int? {
        guard octets.count >= piece.count else { return nil }
        return (octets.startIndex...octets.endIndex - piece.count).first { octets[$0...].starts(with: piece) }
    }
}
