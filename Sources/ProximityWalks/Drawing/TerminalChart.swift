import LockCentral

/// A walk as lines of a terminal: the filtered signal as a filled curve of Unicode's blocks, the raw readings as points over it, the
/// thresholds as lines, and below them what the key's machine found and where its user stood.
///
///     -50 │     ·  ▁▂·
///         │  ▁▂▃▅▆▇██▇▅▃▁
///     -62 ┤─▃██████████████▆─────  near
///         │▅█████████████████▅·
///     -78 ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌▇▅▃  away
package struct TerminalChart: Sendable {
    package static let widthMinimum = 40
    package static let widthMaximum = 160
    package static let rows = 14
    /// Of the labels, with the axis.
    static let labelColumns = 6
    /// A walk that is shorter than this leaves the rest of its line blank.
    static let spanMinimumMilliseconds: UInt64 = 20_000
    private static let dBPerRow = 5.0
    private static let strongestDBm = -30.0
    private static let blocks = Array(" ▁▂▃▄▅▆▇█")

    private let columns: Int

    /// `width`: of the terminal, in columns.
    package init(width: Int) {
        columns = min(max(width, Self.widthMinimum), Self.widthMaximum) - Self.labelColumns
    }

    package func lines(_ trace: WalkTrace, rules: ProximityRules) -> [String] {
        let span = max(trace.readings.last?.milliseconds ?? 0, Self.spanMinimumMilliseconds)
        func column(_ milliseconds: UInt64) -> Int {
            Int(Double(min(milliseconds, span)) / Double(span) * Double(columns - 1))
        }
        var grid = (0..<Self.rows).map { row in Array(repeating: blank(row, rules), count: columns) }
        draw(levels(trace, column), into: &grid)
        for reading in trace.readings {
            let row = Self.row(of: Double(reading.rssi))
            let here = grid[row][column(reading.milliseconds)]
            grid[row][column(reading.milliseconds)] = here == "█" || here == "▒" ? "▒" : "·"
        }
        let labelled = zip(0..., grid).map { row, cells in label(row, rules) + String(cells) }
        return labelled + [
            foot("found", trace.decisions(by: rules).map { ($0.milliseconds, $0.milliseconds, $0.proximity) }, column),
            foot("stood", trace.stands.map { ($0.begin, $0.end ?? span, $0.place) }, column), axis(span),
        ]
    }

    /// The mean of what falls into each column; the last one before where nothing does.
    private func levels(_ trace: WalkTrace, _ column: (UInt64) -> Int) -> [Double?] {
        var sums = [(sum: Double, count: Double)](repeating: (0, 0), count: columns)
        for reading in trace.readings {
            sums[column(reading.milliseconds)].sum += reading.level
            sums[column(reading.milliseconds)].count += 1
        }
        return sums.map { $0.count > 0 ? $0.sum / $0.count : nil }
    }

    private func draw(_ levels: [Double?], into grid: inout [[Character]]) {
        for (column, level) in levels.enumerated() {
            guard let level else { continue }
            for row in 0..<Self.rows {
                let bottom = Self.strongestDBm - Double(row + 1) * Self.dBPerRow
                let eighths = Int(((level - bottom) / Self.dBPerRow * 8).rounded())
                if eighths > 0 { grid[row][column] = Self.blocks[min(eighths, 8)] }
            }
        }
    }

    private static func row(of dBm: Double) -> Int {
        min(max(Int((strongestDBm - dBm) / dBPerRow), 0), rows - 1)
    }

    private func blank(_ row: Int, _ rules: ProximityRules) -> Character {
        if row == Self.row(of: Double(rules.nearDBm)) { return "─" }
        return row == Self.row(of: Double(rules.awayDBm)) ? "╌" : " "
    }

    /// Two thresholds of one row, which six dB apart are not, would have the first one's.
    private func label(_ row: Int, _ rules: ProximityRules) -> String {
        if row == Self.row(of: Double(rules.nearDBm)) { return Self.padded("\(rules.nearDBm)") + "┤" }
        if row == Self.row(of: Double(rules.awayDBm)) { return Self.padded("\(rules.awayDBm)") + "┤" }
        let isLabelled = row == 0 || row == Self.rows - 1
        return Self.padded(isLabelled ? "\(Int(Self.strongestDBm - Double(row) * Self.dBPerRow))" : "") + "│"
    }

    private static func padded(_ text: String) -> String {
        String(repeating: " ", count: max(labelColumns - 1 - text.count, 0)) + text
    }

    /// A line of marks: N for near, A for away.
    private func foot(
        _ name: String, _ marks: [(begin: UInt64, end: UInt64, place: Proximity)], _ column: (UInt64) -> Int
    ) -> String {
        var cells = [Character](repeating: " ", count: columns)
        for mark in marks {
            for index in column(mark.begin)...column(max(mark.end, mark.begin)) {
                cells[index] = mark.place == .near ? "N" : "A"
            }
        }
        return Self.padded(name) + " " + String(cells)
    }

    private func axis(_ span: UInt64) -> String {
        let end = "\(Int((Double(span) / 1_000).rounded())) s"
        return Self.padded("0") + " " + String(repeating: " ", count: columns - end.count) + end
    }
}
