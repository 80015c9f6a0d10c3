import BluetoothCore
import CLinux
import CommandInterface
import DaemonControl
import Glibc

/// `latch central watch`: the locks of a running key, as they are.
enum WatchCommand {
    static let watch = CommandSpec(
        path: ["central", "watch"],
        summary: "Watch the locks of a running key: signal, link, bolt, door, last receipt.",
        details: [
            "On a terminal it is a picture that changes where something does, until Ctrl-C. Elsewhere each change is a line, and with --json an object.",
            "What the lock has said stands there until it says something else, and may be otherwise by now. A signal with a question mark is of a link "
                + "on which nothing has shown that it is the lock's. NO_COLOR in the environment takes the colours out.",
        ],
        options: ControlPlace.options + [Commands.json],
        examples: ["latch central watch", "latch central watch --state ./key --json"]
    ) { arguments in
        try ControlCommand.watching(.central, arguments) { client in
            var session = WatchSession(isForPrograms: arguments.has("json"))
            try session.run(&client)
        }
    }
}

/// One run of it.
private struct WatchSession {
    private let isForPrograms: Bool
    private let terminal: WatchTerminal?
    private var view: WatchView

    init(isForPrograms: Bool) {
        self.isForPrograms = isForPrograms
        terminal = isForPrograms ? nil : WatchTerminal()
        view = WatchView(isColoured: terminal != nil && WatchTerminal.isColoured)
    }

    mutating func run(_ client: inout ControlClient) throws {
        let now = Instant(nanoseconds: latch_boottime_nanoseconds())
        try client.send(CentralRequest.watch, deadline: now.advanced(byMilliseconds: 5_000))
        guard let terminal else {
            while true { try take(client.next(deadline: nil)) }
        }
        while true {
            if let reply = try client.next(unlessReadable: terminal.descriptor) {
                try take(reply)
            } else if case .end? = terminal.next() {
                return
            }
            let size = terminal.size
            terminal.show(view.lines(columns: size.columns, rows: size.rows))
        }
    }

    private mutating func take(_ reply: ControlReply) throws {
        switch reply {
        case .event(let name, let fields):
            if isForPrograms {
                var line: JSONObject = ["event": .string(name)]
                for member in fields.members { line[member.name] = member.value }
                return Output.line(.object(line))
            }
            let text = view.take(name, fields, time: Self.timeOfDay)
            if terminal == nil, let text { Output.line(text) }
        case .error(let failure): throw failure
        // Nothing ends it but the client or the daemon's end.
        case .result: throw ControlFailure(.stopping, "the key watches nothing any more")
        }
    }

    /// So many milliseconds ago, local.
    private static func timeOfDay(millisecondsAgo: UInt64) -> String {
        var seconds = time(nil) - time_t(clamping: millisecondsAgo / 1_000)
        var local = tm()
        localtime_r(&seconds, &local)
        func digits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(digits(local.tm_hour)):\(digits(local.tm_min)):\(digits(local.tm_sec))"
    }
}
