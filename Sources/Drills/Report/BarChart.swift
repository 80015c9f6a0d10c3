/// Counts as horizontal bars below each other, as inline SVG.
package struct BarChart {
    package struct Bar {
        let label: String
        let count: Int

        package init(label: String, count: Int) {
            self.label = label
            self.count = count
        }
    }

    private let title: String
    private let bars: [Bar]
    private static let width = 640
    private static let rowHeight = 18

    package init(title: String, bars: [Bar]) {
        self.title = title
        self.bars = bars
    }

    package var text: String {
        let most = max(bars.map(\.count).max() ?? 1, 1)
        let rows = bars.enumerated().map { index, bar in
            let (y, width) = (index * Self.rowHeight, bar.count * Self.width / most)
            let label = HTMLReport.escape(bar.label)
            return "<text x=\"0\" y=\"\(y + 13)\">\(label)</text>"
                + "<rect class=\"restore\" x=\"110\" y=\"\(y + 2)\" width=\"\(width)\" height=\"14\">"
                + "<title>\(bar.count) \(label)</title></rect>"
                + "<text class=\"faint\" x=\"\(116 + width)\" y=\"\(y + 13)\">\(bar.count)</text>"
        }
        return """
            <div class="wide">
            <svg xmlns="http://www.w3.org/2000/svg" role="img" width="\(Self.width + 180)" \
            height="\(bars.count * Self.rowHeight + 4)" aria-label="\(HTMLReport.escape(title))">
            \(rows.joined(separator: "\n"))
            </svg>
            </div>
            """
    }
}
