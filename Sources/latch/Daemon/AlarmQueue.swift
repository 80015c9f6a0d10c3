import DaemonControl

/// Alarms that wait for the hook, which takes one at a time. Past its bound it keeps how many there were, and of which kinds.
struct AlarmQueue {
    /// One more, and those behind them become one line.
    static let alarmsMaximum = 16

    struct Line: Equatable {
        let fields: JSONObject
        /// The number of its alarm, or of its first one.
        let first: UInt64
    }

    private struct Rest {
        let first: UInt64
        var count: UInt64 = 0
        /// As often as there are kinds, at most.
        var kinds: [String] = []
    }

    private var waiting: [Line] = []
    private var rest: Rest?

    /// The number of the first alarm that waits.
    var first: UInt64? { waiting.first?.first ?? rest?.first }

    /// `number`: greater than that of the alarm before. False for the first one that becomes part of a line: that is to be said.
    mutating func put(_ alarm: JSONObject, _ number: UInt64) -> Bool {
        if waiting.count < Self.alarmsMaximum {
            if let line = takeRest() { waiting.append(line) }
        }
        guard waiting.count >= Self.alarmsMaximum else {
            waiting.append(Line(fields: alarm, first: number))
            return true
        }
        var rest = self.rest ?? Rest(first: number)
        rest.count += 1
        if let kind = alarm["alarm"]?.string, !rest.kinds.contains(kind) { rest.kinds.append(kind) }
        self.rest = rest
        return rest.count > 1
    }

    /// The next line; nil when nothing waits.
    mutating func next() -> Line? { waiting.isEmpty ? takeRest() : waiting.removeFirst() }

    private mutating func takeRest() -> Line? {
        guard let rest = rest.take() else { return nil }
        let kinds = JSONValue.array(rest.kinds.map { .string($0) })
        return Line(fields: ["alarm": "several", "count": JSONValue(rest.count), "kinds": kinds], first: rest.first)
    }
}
