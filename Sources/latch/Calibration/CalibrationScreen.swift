import CLinux
import CommandInterface
import DaemonControl
import Glibc
import LockCentral
import ProximityWalks

/// Shows a walk while it goes on: a chart that is drawn again in its place on a terminal, a line a second elsewhere, or each reading
/// for programs.
struct CalibrationScreen {
    private enum Form { case chart, lines, json }

    private static let redrawMilliseconds: UInt64 = 250
    private static let usualColumns = 80

    private let form: Form
    private var phase: CalibrationWalk.Phase?
    private var wasLinked = false
    private var told = 0
    private var due: UInt64 = 0
    private var height = 0

    init(json: Bool) {
        let isTerminal = isatty(STDOUT_FILENO) == 1 && getenv("TERM").map { String(cString: $0) } != "dumb"
        form = json ? .json : isTerminal ? .chart : .lines
    }

    mutating func show(_ walk: CalibrationWalk, of walked: WalkedLock, _ milliseconds: UInt64) {
        let isNews = walk.phase != phase || walk.isLinked != wasLinked
        (phase, wasLinked) = (walk.phase, walk.isLinked)
        switch form {
        case .chart:
            guard isNews || milliseconds >= due else { return }
            due = milliseconds + Self.redrawMilliseconds
            draw(walk, walked)
        case .lines:
            if isNews { Output.line(CalibrationText.prompt(walk)) }
            guard milliseconds >= due, walk.phase != .over, let last = walk.trace.readings.last else { return }
            due = milliseconds + 1_000
            Output.line(CalibrationText.line(last, walked.rules))
        case .json:
            for reading in walk.trace.readings[told...] { Output.line(.object(Self.object(reading))) }
            told = walk.trace.readings.count
            if isNews {
                Output.line(["event": "walk", "phase": .string(walk.phase.name), "linked": .bool(walk.isLinked)])
            }
        }
    }

    /// An Enter at the terminal has moved what stands there up.
    mutating func scrolled(by lines: Int) { if height > 0 { height += lines } }

    /// The last picture stays.
    mutating func end() { height = 0 }

    private mutating func draw(_ walk: CalibrationWalk, _ walked: WalkedLock) {
        let columns = Int(latch_terminal_columns(STDOUT_FILENO))
        let chart = TerminalChart(width: columns > 0 ? columns : Self.usualColumns)
        let lines = chart.lines(walk.trace, rules: walked.rules) + [CalibrationText.prompt(walk)]
        // Back to the first line. Each is cleared before it is written: behind one that fills its row the cursor still stands on the last character.
        var text = height > 0 ? "\u{1B}[\(height)A" : ""
        for line in lines { text += "\r\u{1B}[K" + line + "\n" }
        Output.write(text + "\u{1B}[J")
        height = lines.count
    }

    private static func object(_ reading: WalkTrace.Reading) -> JSONObject {
        [
            "event": "reading", "ms": JSONValue(reading.milliseconds), "rssi": JSONValue(reading.rssi),
            "level_hundredths": .number(Int64((reading.level * 100).rounded())),
        ]
    }
}

extension CalibrationWalk.Phase {
    fileprivate var name: String {
        switch self {
        case .connecting: "connecting"
        case .comingNear: "coming_near"
        case .standingNear: "standing_near"
        case .goingAway: "going_away"
        case .standingAway: "standing_away"
        case .over: "over"
        }
    }
}
