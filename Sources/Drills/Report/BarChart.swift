import BluetoothCore

/// How many of some lengths are under 10, under 20, under 30 … ms, as horizontal bars below each other. Inline SVG.
package struct BarChart {
    private struct Bar {
        let label: String
        let count: Int
    }

    private let title: String
    private let bars: [Bar]
    private static let width = 640
    private static let rowHeight = 18

    /// - Parameter counts: how often each length occurs, in milliseconds.
    /// - Parameter binMilliseconds: the width of a bar's bin.
    /// - Parameter bins: how many bars there are at most; the last one has everything that is longer.
    package init(title: String, counts: [UInt64: Int], binMilliseconds: UInt64, bins: Int) {
        self.title = title
        let byBin = Dictionary(
            counts.map { (min(Int($0 / binMilliseconds), bins - 1), $1) }, uniquingKeysWith: +)
        bars = (0..<(byBin.keys.max() ?? -1) + 1).map { bin in
            let isRest = bin == bins - 1
            let bound = binMilliseconds * UInt64(isRest ? bin : bin + 1)
            return Bar(label: "\(isRest ? "from" : "under") \(bound) ms", count: byBin[bin] ?? 0)
        }
    }

    package init(title: String, milliseconds: [UInt64], binMilliseconds: UInt64, bins: Int) {
        self.init(
            title: title, counts: Dictionary(milliseconds.map { ($0, 1) }, uniquingKeysWith: +),
            binMilliseconds: binMilliseconds, bins: bins)
    }

    package var text: String {
        let most = max(bars.map(\.count).max() ?? 1, 1)
        let rows = bars.enumerated().map { index, bar in
            let (y, width) = (index * Self.rowHeight, bar.count * Self.width / most)
            return "<text x=\"0\" y=\"\(y + 13)\">\(bar.label)</text>"
                + "<rect class=\"restore\" x=\"110\" y=\"\(y + 2)\" width=\"\(width)\" height=\"14\">"
                + "<title>\(bar.count) \(bar.label)</title></rect>"
                + "<text class=\"faint\" x=\"\(116 + width)\" y=\"\(y + 13)\">\(bar.count)</text>"
        }
        return """
            <div class="wide">
            <svg xmlns="http://www.w3.org/2000/svg" role="img" width="\(Self.width + 180)" \
            height="\(bars.count * Self.rowHeight + 4)" aria-label="\(XMLText.escaped(title))">
            \(rows.joined(separator: "\n"))
            </svg>
            </div>
            """
    }
}
