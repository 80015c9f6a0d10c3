import CLinux
import Glibc

/// How far a drill has got: one line that changes on a terminal, plain lines otherwise.
package final class Progress {
    package let isTerminal = isatty(STDERR_FILENO) == 1
    private let planned: Int
    private var shown = ""
    /// Of the households that are done.
    private var done = (kills: 0, accepted: 0, replays: 0)

    package init(planned: Int = 0) { self.planned = planned }

    func finished(_ history: History) {
        done.kills += history.kills.count
        done.accepted += history.asked.count { $0.isAccepted }
        done.replays += history.replaysSent
    }

    func show(_ history: History) {
        let accepted = done.accepted + history.asked.count { $0.isAccepted }
        let kills = done.kills + history.kills.count
        var line = "\(kills)/\(planned) kills, \(accepted) commands, \(done.replays + history.replaysSent) replays"
        if let kill = history.kills.last {
            line += "; last: the \(kill.role.rawValue) \(kill.phase.title), by \(kill.means)"
        }
        show(line)
    }

    package func show(_ line: String) {
        guard line != shown else { return }
        shown = line
        write(isTerminal ? "\r\u{1B}[K" + String(line.prefix(110)) : line + "\n")
    }

    package func finish() { if isTerminal, !shown.isEmpty { write("\r\u{1B}[K") } }

    package func say(_ line: String) { write(line + "\n") }

    private func write(_ text: String) {
        let octets = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, octets, octets.count)
    }
}
