/// What somebody meant who wrote a name that does not exist.
package enum NearestName {
    /// The known name with the fewest edits, if they are few for a name of that length.
    package static func of(_ name: String, among known: [String]) -> String? {
        let candidates = known.map { (name: $0, edits: edits(from: name, to: $0)) }
        guard let nearest = candidates.min(by: { $0.edits < $1.edits }),
            nearest.edits <= max(1, min(name.count, nearest.name.count) / 3)
        else { return nil }
        return nearest.name
    }

    /// `: did you mean ...?`, or nothing.
    package static func hint(for name: String, among known: [String], prefix: String = "") -> String {
        of(name, among: known).map { ": did you mean `\(prefix)\($0)`?" } ?? ""
    }

    /// Insertions, deletions, substitutions and swaps of neighbours.
    private static func edits(from a: String, to b: String) -> Int {
        let (a, b) = (Array(a.prefix(64)), Array(b.prefix(64)))
        var rows = [Array(0...b.count)]
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var best = min(rows[i][j] + (a[i] == b[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
