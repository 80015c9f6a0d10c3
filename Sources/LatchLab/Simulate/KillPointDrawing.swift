import Drills
import Simulation

/// Which kill points were reached: a cell for each, of either machine, as inline SVG.
struct KillPointDrawing {
    let points: Set<Tally.Point>

    private struct Row {
        let title: String
        let range: ClosedRange<Int>
        let reached: Set<Int>
    }

    private static let left = 210
    private static let cells = 120
    private static let cellWidth = 6
    private static let rowHeight = 22

    private func rows(of machine: Machine) -> [Row] {
        var (commits, acts, calls, moments): (Set<Int>, Set<Int>, Set<Int>, Set<Int>) = ([], [], [], [])
        for point in points where point.machine == machine {
            switch point.point {
            case .beforeCommit(let count): commits.insert(count)
            case .afterActs(let count): acts.insert(count)
            case .atCall(let count): calls.insert(count)
            case .after(let milliseconds): moments.insert(Int(milliseconds))
            }
        }
        return [
            Row(title: "before commit", range: KillPoint.commits, reached: commits),
            Row(title: "behind act", range: KillPoint.acts, reached: acts),
            Row(title: "at call of SQLite", range: KillPoint.calls, reached: calls),
            Row(title: "after ms", range: KillPoint.milliseconds, reached: moments),
        ]
    }

    var text: String {
        let all = [Machine.lock, .key].flatMap { machine in rows(of: machine).map { (machine, $0) } }
        let drawn = all.enumerated().map { index, entry in draw(entry.1, of: entry.0, at: index * Self.rowHeight) }
        return """
            <div class="wide">
            <svg xmlns="http://www.w3.org/2000/svg" role="img" width="\(Self.left + Self.cells * Self.cellWidth + 90)" \
            height="\(all.count * Self.rowHeight + 4)" aria-label="Kill points that were reached">
            \(drawn.joined(separator: "\n"))
            </svg>
            </div>
            """
    }

    /// Long ranges have several points to a cell.
    private func draw(_ row: Row, of machine: Machine, at y: Int) -> String {
        let share = (row.range.count + Self.cells - 1) / Self.cells
        let cells = stride(from: row.range.lowerBound, through: row.range.upperBound, by: share).enumerated().map {
            index, first in
            let last = min(first + share - 1, row.range.upperBound)
            let isReached = (first...last).contains(where: row.reached.contains)
            let name = "\(machine), \(row.title) \(first == last ? "\(first)" : "\(first) to \(last)")"
            return "<rect class=\"\(isReached ? "restore" : "attack")\" x=\"\(Self.left + index * Self.cellWidth)\" "
                + "y=\"\(y + 3)\" width=\"\(Self.cellWidth - 1)\" height=\"14\"><title>"
                + "\(name): \(isReached ? "reached" : "not reached")</title></rect>"
        }
        let end = Self.left + cells.count * Self.cellWidth + 6
        return "<text x=\"8\" y=\"\(y + 15)\">\(machine), \(row.title)</text>" + cells.joined()
            + "<text class=\"faint\" x=\"\(end)\" y=\"\(y + 15)\">\(row.reached.count) of \(row.range.count)</text>"
    }
}
