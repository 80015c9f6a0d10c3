import BluetoothCore

/// Who lived, who was connected, what was asked for and where the bolt was, as inline SVG. Whatever is drawn says on
/// pointing at it what it is.
struct Timeline {
    let history: History

    private static let left = 92
    /// Of a second; more when the drill was short.
    private static let pixelsPerSecond: UInt64 = 24
    private static let lanes = ["lock", "key", "links", "commands", "bolt", "attacks"]
    private static let laneHeight = 34
    private static let top = 52

    private var seconds: UInt64 { (history.ended &- history.began) / 1_000_000_000 + 1 }
    private var width: Int { Self.left + Int(min(seconds, 36_000) * Self.pixelsPerSecond) + 24 }
    private var height: Int { Self.top + Self.lanes.count * Self.laneHeight + 28 }

    /// The time that a command's mark covers.
    private static let markNanoseconds = 10 * 1_000_000_000 / pixelsPerSecond

    private func x(_ at: UInt64) -> String {
        let since = at > history.began ? min(at, max(history.ended, history.began)) - history.began : 0
        let tenths = since / 1_000 * Self.pixelsPerSecond / 100_000
        return "\(UInt64(Self.left) + tenths / 10).\(tenths % 10)"
    }

    private func span(_ from: UInt64, _ to: UInt64) -> String {
        let duration = max(to, from) - from
        let tenths = max(duration / 1_000 * Self.pixelsPerSecond / 100_000, 15)
        return "\(tenths / 10).\(tenths % 10)"
    }

    private func y(_ lane: String) -> Int {
        Self.top + (Self.lanes.firstIndex(of: lane) ?? 0) * Self.laneHeight + Self.laneHeight / 2
    }

    private func title(_ text: String, _ at: UInt64) -> String {
        let since = at > history.began ? at - history.began : 0
        return "<title>\(XMLText.escaped("\(HTMLReport.seconds(since)) s: \(text)"))</title>"
    }

    var text: String {
        let marks = [grid, links, attacks, restarts, kills, commands, bolt].joined(separator: "\n")
        return """
            <div class="wide">
            <svg xmlns="http://www.w3.org/2000/svg" role="img" width="\(width)" height="\(height)" \
            viewBox="0 0 \(width) \(height)" aria-label="Kills, restores, links, commands, bolt and attacks over time">
            \(legend)
            \(marks)
            </svg>
            </div>
            """
    }

    private var legend: String {
        let entries: [(String, String)] = [
            ("<path class=\"kill\" d=\"M0 -6 L8 2 M8 -6 L0 2\"/>", "SIGKILL"),
            ("<rect class=\"restore\" x=\"0\" y=\"-6\" width=\"10\" height=\"8\"/>", "restore"),
            ("<rect class=\"link\" x=\"0\" y=\"-6\" width=\"10\" height=\"8\"/>", "link"),
            ("<rect class=\"stranger\" x=\"0\" y=\"-6\" width=\"10\" height=\"8\"/>", "attacker's link"),
            ("<circle class=\"command\" cx=\"5\" cy=\"-2\" r=\"4\"/>", "command accepted"),
            ("<circle class=\"refused\" cx=\"5\" cy=\"-2\" r=\"4\"/>", "no answer, or none accepted"),
            ("<path class=\"bolt\" d=\"M0 2 L5 2 L5 -6 L10 -6\"/>", "bolt (up is open)"),
            ("<rect class=\"attack\" x=\"0\" y=\"-6\" width=\"10\" height=\"8\"/>", "attack"),
        ]
        var x = 8
        return entries.map { mark, name in
            defer { x += 34 + name.count * 7 }
            return "<g transform=\"translate(\(x) 20)\">\(mark)<text x=\"16\" y=\"2\">\(name)</text></g>"
        }.joined(separator: "\n")
    }

    private var grid: String {
        var parts = Self.lanes.map { lane in
            "<text x=\"8\" y=\"\(y(lane) + 4)\">\(lane)</text>"
                + "<line class=\"grid\" x1=\"\(Self.left)\" x2=\"\(width - 12)\" y1=\"\(y(lane))\" y2=\"\(y(lane))\"/>"
        }
        for second in stride(from: UInt64(0), through: min(seconds, 36_000), by: 5) {
            let x = x(history.began + second * 1_000_000_000)
            parts.append(
                "<line class=\"grid\" x1=\"\(x)\" x2=\"\(x)\" y1=\"\(Self.top)\" y2=\"\(height - 24)\"/>"
                    + "<text class=\"faint\" x=\"\(x)\" y=\"\(height - 8)\">\(second) s</text>")
        }
        return parts.joined(separator: "\n")
    }

    private var kills: String {
        history.kills.map { kill in
            let y = y(kill.role.rawValue)
            let mark = "<path class=\"kill\" transform=\"translate(\(x(kill.at)) \(y))\" d=\"M-5 -5 L5 5 M5 -5 L-5 5\">"
            return mark
                + title("\(kill.role.rawValue) killed \(kill.phase.title) by \(kill.means): \(kill.evidence)", kill.at)
                + "</path>"
        }.joined(separator: "\n")
    }

    private var restarts: String {
        history.restarts.map { restart in
            let end = restart.at + (restart.restoreNanoseconds ?? 0)
            let text =
                restart.restoreNanoseconds.map { "restored in \(($0 + 999_999) / 1_000_000) ms" } ?? "did not come back"
            return "<rect class=\"restore\" x=\"\(x(restart.at))\" y=\"\(y(restart.role.rawValue) - 6)\" "
                + "width=\"\(span(restart.at, end))\" height=\"12\">"
                + title("\(restart.role.rawValue) \(text)", restart.at) + "</rect>"
        }.joined(separator: "\n")
    }

    private var links: String {
        history.links.map { link in
            let end = link.ended ?? history.ended
            let milliseconds = (max(end, link.began) - link.began) / 1_000_000
            return "<rect class=\"\(link.isAttacker ? "stranger" : "link")\" x=\"\(x(link.began))\" "
                + "y=\"\(y("links") + (link.isAttacker ? 1 : -9))\" width=\"\(span(link.began, end))\" height=\"8\">"
                + title("\(link.isAttacker ? "the attacker's " : "")link, \(milliseconds) ms", link.began) + "</rect>"
        }.joined(separator: "\n")
    }

    /// A key that is still busy with a command is asked again and again: such answers are drawn once for as far as they
    /// would lie on each other.
    private var commands: String {
        var lastRefused: (at: UInt64, verdict: String?)?
        return history.asked.compactMap { asked in
            if !asked.isAccepted {
                if let last = lastRefused, last.verdict == asked.verdict, asked.at < last.at + Self.markNanoseconds {
                    return nil
                }
                lastRefused = (asked.at, asked.verdict)
            }
            let text = "\(asked.opens ? "unlock" : "lock"): \(asked.verdict ?? "no answer")"
            return "<circle class=\"\(asked.isAccepted ? "command" : "refused")\" cx=\"\(x(asked.at))\" "
                + "cy=\"\(y("commands"))\" r=\"4\">" + title(text, asked.at) + "</circle>"
        }.joined(separator: "\n")
    }

    /// Up while the bolt is open.
    private var bolt: String {
        let (low, high) = (y("bolt") + 8, y("bolt") - 8)
        var path = "M\(x(history.began)) \(low)"
        var level = low
        var marks: [String] = []
        for movement in history.movements {
            let next = movement.opens ? high : low
            path += " L\(x(movement.at)) \(level) L\(x(movement.at)) \(next)"
            level = next
            let by = movement.command.map { "by command \($0)" } ?? "by its own rules"
            marks.append(
                "<circle cx=\"\(x(movement.at))\" cy=\"\(next)\" r=\"2.5\" class=\"bolt\">"
                    + title("\(movement.kind.rawValue) \(by), intent \(movement.intent)", movement.at) + "</circle>")
        }
        path += " L\(x(history.ended)) \(level)"
        return "<path class=\"bolt\" d=\"\(path)\"/>" + marks.joined()
    }

    private var attacks: String {
        history.attacks.map { attack in
            let text = "\(attack.kind.rawValue): \(attack.count) signed commands"
            return "<rect class=\"attack\" x=\"\(x(attack.began))\" y=\"\(y("attacks") - 8)\" "
                + "width=\"\(span(attack.began, attack.ended))\" height=\"16\">" + title(text, attack.began) + "</rect>"
        }.joined(separator: "\n")
    }
}
