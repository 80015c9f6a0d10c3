import DaemonControl

/// Alarms that wait for the hook, which takes one at a time. Past its bound it keeps how many there were, and of which kinds.
struct AlarmQueue {
    /// One more, and those behind them become one line.
    static let alarmsMaximum = 16

    private var waiting: [JSONObject] = []
    private var coalesced: UInt64 = 0
    /// As often as there are kinds, at most.
    private var kinds: [String] = []

    /// False for the first one that becomes part of a line: that is to be said.
    mutating func put(_ alarm: JSONObject) -> Bool {
        if coalesced > 0, waiting.count < Self.alarmsMaximum { waiting.append(takeCoalesced()) }
        guard waiting.count >= Self.alarmsMaximum else {
            waiting.append(alarm)
            return true
        }
        coalesced += 1
        if let kind = alarm["alarm"]?.string, !kinds.contains(kind) { kinds.append(kind) }
        return coalesced > 1
    }

    /// The next line; nil when nothing waits.
    mutating func next() -> JSONObject? {
        guard waiting.isEmpty else { return waiting.removeFirst() }
        return coalesced > 0 ? takeCoalesced() : nil
    }

    private mutating func takeCoalesced() -> JSONObject {
        defer { (coalesced, kinds) = (0, []) }
        return ["alarm": "several", "count": JSONValue(coalesced), "kinds": .array(kinds.map { .string($0) })]
    }
}
