/// What stands on a terminal, and what is to be written so that something else does: the lines that differ, and no other.
struct WatchScreen {
    private var shown: [String] = []

    /// A screen of its own without a cursor, and the way back to what was there before.
    static let enter = "\u{1B}[?1049h\u{1B}[?25l"
    static let leave = "\u{1B}[?25h\u{1B}[?1049l"

    /// Nothing is known of what stands there.
    mutating func clear() -> String {
        shown = []
        return "\u{1B}[2J"
    }

    mutating func show(_ lines: [String]) -> String {
        var text = ""
        for row in 0..<max(lines.count, shown.count) {
            let line = row < lines.count ? lines[row] : ""
            guard row >= shown.count || shown[row] != line else { continue }
            // Behind a line that fills its row the cursor still stands on the last character, which would be cleared with the rest.
            text += "\u{1B}[\(row + 1);1H\u{1B}[K" + line
        }
        shown = lines
        return text
    }
}
