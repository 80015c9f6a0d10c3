import CLinux
import Glibc

/// How far a drill has got: one line that changes on a terminal, plain lines otherwise.
final class Progress {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var shown = ""

    func show(_ history: History, planned: Int) {
        let accepted = history.asked.count { $0.isAccepted }
        var line = "\(history.kills.count)/\(planned) kills, \(accepted) commands, \(history.replaysSent) replays"
        if let kill = history.kills.last {
            line += "; last: the \(kill.role.rawValue) \(kill.phase.title), by \(kill.means)"
        }
        guard line != shown else { return }
        shown = line
        write(isTerminal ? "\r\u{1B}[K" + String(line.prefix(110)) : line + "\n")
    }

    func finish() { if isTerminal, !shown.isEmpty { write("\r\u{1B}[K") } }

    func say(_ line: String) { write(line + "\n") }

    private func write(_ text: String) {
        let octets = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, octets, octets.count)
    }
}
