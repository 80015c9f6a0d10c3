import CLinux
import DaemonControl
import Glibc

/// One line per event on standard error. Values are escaped: what a peer sends cannot forge a line or speak to a
/// terminal. Secrets have no description and cannot get here.
struct Log: Sendable {
    enum Level: String, CaseIterable, Sendable { case debug, info, warning, error }

    enum Format: Sendable {
        case text
        case json
        /// For systemd's journal, which has its own clock: the level as `<N>` and no time.
        case journal
    }

    let level: Level
    let format: Format

    func debug(_ message: String, _ fields: JSONObject = [:]) { write(.debug, message, fields) }
    func info(_ message: String, _ fields: JSONObject = [:]) { write(.info, message, fields) }
    func warning(_ message: String, _ fields: JSONObject = [:]) { write(.warning, message, fields) }
    func error(_ message: String, _ fields: JSONObject = [:]) { write(.error, message, fields) }

    private func write(_ level: Level, _ message: String, _ fields: JSONObject) {
        guard level.severity <= self.level.severity else { return }
        let line = Self.line(level, message, fields, format: format, time: Self.now()) + "\n"
        var octets = Array(line.utf8)[...]
        while !octets.isEmpty {
            let written = octets.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            guard written > 0 else { return }
            octets.removeFirst(written)
        }
    }

    static func line(_ level: Level, _ message: String, _ fields: JSONObject, format: Format, time: String) -> String {
        if case .json = format {
            var object: JSONObject = [
                "time": .string(time), "level": .string(level.rawValue), "message": .string(message),
            ]
            for member in fields.members where object[member.name] == nil { object[member.name] = member.value }
            return JSONValue.object(object).text
        }
        var line = if case .journal = format { "<\(level.severity)>" } else { "\(time) \(level.rawValue) " }
        line += bare(message)
        for member in fields.members { line += " \(member.name)=" + value(member.value) }
        return line
    }

    /// As JSON writes it, but without quotes where nothing needs them.
    private static func value(_ value: JSONValue) -> String {
        guard let string = value.string else { return value.text }
        let isPlain =
            !string.isEmpty && string.unicodeScalars.allSatisfy { (0x21...0x7E).contains($0.value) && $0 != "\"" }
        return isPlain ? string : value.text
    }

    private static func bare(_ message: String) -> String {
        String(JSONValue.string(message).text.dropFirst().dropLast())
    }

    /// RFC 3339, in UTC.
    private static func now() -> String {
        var clock = timespec()
        clock_gettime(CLOCK_REALTIME, &clock)
        var parts = tm()
        gmtime_r(&clock.tv_sec, &parts)
        let padded = { (number: Int, digits: Int) in
            let text = String(number)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        let date = [
            padded(Int(parts.tm_year) + 1900, 4), padded(Int(parts.tm_mon) + 1, 2), padded(Int(parts.tm_mday), 2),
        ]
        let time = [padded(Int(parts.tm_hour), 2), padded(Int(parts.tm_min), 2), padded(Int(parts.tm_sec), 2)]
        return date.joined(separator: "-") + "T" + time.joined(separator: ":") + "."
            + padded(clock.tv_nsec / 1_000_000, 3)
            + "Z"
    }
}

extension Log.Level {
    /// syslog's numbers.
    var severity: Int {
        switch self {
        case .error: 3
        case .warning: 4
        case .info: 6
        case .debug: 7
        }
    }
}
