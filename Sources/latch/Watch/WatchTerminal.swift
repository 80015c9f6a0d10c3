import CLinux
import CommandInterface
import Glibc

/// The terminal that a picture stands on: a screen of its own, given back when this ends or is stopped.
final class WatchTerminal {
    /// What somebody does to it.
    enum Event {
        case end
        case resized
        /// It was stopped, and goes on.
        case continued
    }

    private static let endings = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    /// Readable when there is an ``Event``.
    let descriptor: Int32
    private var before: termios?
    private var screen = WatchScreen()
    private var isEntered = false

    /// nil where standard output is no terminal that can be drawn on. From here on its signals are taken.
    init?() {
        guard isatty(STDOUT_FILENO) == 1, let kind = Environment.variable("TERM"), !kind.isEmpty, kind != "dumb"
        else { return nil }
        let signals = (Self.endings + [SIGTSTP, SIGWINCH]).reduce(into: UInt64(0)) { $0 |= 1 << UInt64($1) }
        descriptor = latch_signalfd(signals)
        guard descriptor >= 0 else { return nil }
        enter()
    }

    deinit {
        leave()
        close(descriptor)
    }

    /// Standards say that any value asks for no colour. https://no-color.org
    static var isColoured: Bool { Environment.variable("NO_COLOR").map(\.isEmpty) ?? true }

    /// nil where nothing has happened.
    func next() -> Event? {
        switch Int32(latch_signalfd_read(descriptor)) {
        case 0: return nil
        case SIGTSTP:
            leave()
            // Whoever has stopped it lets it go on.
            kill(getpid(), SIGSTOP)
            enter()
            return .continued
        case SIGWINCH:
            Output.write(screen.clear())
            return .resized
        default: return .end
        }
    }

    /// Characters of a line, and lines.
    var size: (columns: Int, rows: Int) {
        var (columns, rows): (UInt16, UInt16) = (0, 0)
        guard latch_window_size(STDOUT_FILENO, &columns, &rows) == 0, columns > 0, rows > 0 else { return (80, 24) }
        return (Int(columns), Int(rows))
    }

    func show(_ lines: [String]) {
        let text = screen.show(lines)
        if !text.isEmpty { Output.write(text) }
    }

    private func enter() {
        guard !isEntered else { return }
        isEntered = true
        var settings = termios()
        if tcgetattr(STDIN_FILENO, &settings) == 0 {
            before = settings
            // What is typed would stand in the picture.
            settings.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
        }
        Output.write(WatchScreen.enter + screen.clear())
    }

    private func leave() {
        guard isEntered else { return }
        isEntered = false
        Output.write(WatchScreen.leave)
        if var before { tcsetattr(STDIN_FILENO, TCSADRAIN, &before) }
    }
}
