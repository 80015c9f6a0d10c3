import BluetoothCore
import Drills
import Simulation

/// A schedule on a line of virtual time, as inline SVG. Whatever is drawn says on pointing at it what it is.
struct StoryDrawing {
    let chronicle: Chronicle

    private static let left = 92
    private static let width = 960
    private static let laneHeight = 34
    private static let top = 12

    private var lanes: [Chronicle.Lane] {
        [.lock] + (0..<chronicle.keys).map { .key($0) } + [.commands, .bolt, .faults]
    }

    private var height: Int { Self.top + lanes.count * Self.laneHeight + 24 }
    private var milliseconds: UInt64 { max(1, chronicle.milliseconds) }

    private func x(_ at: UInt64) -> Int {
        Self.left + Int(min(at, milliseconds) * UInt64(Self.width - Self.left - 12) / milliseconds)
    }

    private func y(_ lane: Chronicle.Lane) -> Int {
        Self.top + (lanes.firstIndex(of: lane) ?? 0) * Self.laneHeight + Self.laneHeight / 2
    }

    var text: String {
        """
        <div class="wide">
        <svg xmlns="http://www.w3.org/2000/svg" role="img" width="\(Self.width)" height="\(height)" \
        aria-label="Processes, commands, bolt and faults over virtual time">
        \(grid)
        \(bolt)
        \(chronicle.entries.map(mark).joined(separator: "\n"))
        </svg>
        </div>
        """
    }

    private var grid: String {
        let names = lanes.map { lane in
            "<text x=\"8\" y=\"\(y(lane) + 4)\">\(lane.title)</text>"
                + "<line class=\"grid\" x1=\"\(Self.left)\" x2=\"\(Self.width - 12)\" y1=\"\(y(lane))\" y2=\"\(y(lane))\"/>"
        }
        let step = max(1, milliseconds / 10_000) * 1_000
        let seconds = stride(from: 0, through: milliseconds, by: Int(step)).map { at in
            "<line class=\"grid\" x1=\"\(x(at))\" x2=\"\(x(at))\" y1=\"\(Self.top)\" y2=\"\(height - 20)\"/>"
                + "<text class=\"faint\" x=\"\(x(at))\" y=\"\(height - 6)\">\(at / 1_000) s</text>"
        }
        return (names + seconds).joined(separator: "\n")
    }

    /// Up while the bolt is open.
    private var bolt: String {
        let (low, high) = (y(.bolt) + 8, y(.bolt) - 8)
        var path = "M\(Self.left) \(low)"
        var level = low
        for entry in chronicle.entries where entry.lane == .bolt {
            path += " L\(x(entry.milliseconds)) \(level)"
            level = entry.mark == .opened ? high : low
            path += " L\(x(entry.milliseconds)) \(level)"
        }
        return "<path class=\"bolt\" d=\"\(path) L\(x(milliseconds)) \(level)\"/>"
    }

    private func mark(_ entry: Chronicle.Entry) -> String {
        let (x, y) = (x(entry.milliseconds), y(entry.lane))
        let title = "<title>\(XMLText.escaped("\(entry.milliseconds) ms: \(entry.text)"))</title>"
        return switch entry.mark {
        case .begun:
            "<rect class=\"restore\" x=\"\(x - 4)\" y=\"\(y - 6)\" width=\"8\" height=\"12\">\(title)</rect>"
        case .ended:
            "<path class=\"kill\" transform=\"translate(\(x) \(y))\" d=\"M-5 -5 L5 5 M5 -5 L-5 5\">\(title)</path>"
        case .asked: "<circle class=\"refused\" cx=\"\(x)\" cy=\"\(y)\" r=\"4\">\(title)</circle>"
        case .told: "<circle class=\"command\" cx=\"\(x)\" cy=\"\(y)\" r=\"4\">\(title)</circle>"
        case .opened, .locked:
            "<circle class=\"bolt\" cx=\"\(x)\" cy=\"\(y + (entry.mark == .opened ? -8 : 8))\" r=\"2.5\">\(title)</circle>"
        case .wrong: "<rect class=\"attack\" x=\"\(x - 4)\" y=\"\(y - 8)\" width=\"8\" height=\"16\">\(title)</rect>"
        }
    }
}

extension Chronicle.Lane {
    var title: String {
        switch self {
        case .lock: "lock"
        case .key(let number): "key \(number)"
        case .commands: "commands"
        case .bolt: "bolt"
        case .faults: "faults"
        }
    }
}
