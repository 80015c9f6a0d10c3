import BluetoothCore

/// Takes the options of one drill from its words, in their order, each at most once.
struct OptionReader {
    private var rest: ArraySlice<String>
    private let command: String
    private var seen: Set<String> = []
    private var name = ""
    /// What follows the option's `=`.
    private var attached: String?

    init(_ words: [String], command: String) {
        rest = words[...]
        self.command = command
    }

    /// The next option's name; nil when there is none.
    mutating func next() throws(DrillOptions.UsageError) -> String? {
        guard let word = rest.popFirst() else { return nil }
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        name = parts.first ?? word
        attached = parts.count > 1 ? parts[1] : nil
        guard seen.insert(name).inserted else { throw error("option `\(name)` is given twice") }
        return name
    }

    mutating func value() throws(DrillOptions.UsageError) -> String {
        guard let value = attached ?? rest.popFirst(), !value.isEmpty else {
            throw error("option `\(name)` needs a value")
        }
        return value
    }

    func flag(_ set: () -> Void) throws(DrillOptions.UsageError) {
        guard attached == nil else { throw error("option `\(name)` takes no value") }
        set()
    }

    mutating func number<Number: FixedWidthInteger>(in range: ClosedRange<Number>) throws(DrillOptions.UsageError)
        -> Number
    {
        guard let number = Number(digits: try value()), range.contains(number) else {
            throw error("option `\(name)` must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func choice<Value: CaseIterable & RawRepresentable>(_: Value.Type) throws(DrillOptions.UsageError) -> Value
    where Value.RawValue == String {
        let text = try value()
        guard let value = Value(rawValue: text) else {
            let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw error("option `\(name)` must be one of \(known), not `\(text)`")
        }
        return value
    }

    var unknown: DrillOptions.UsageError { error("unknown option `\(name)` for `latch-lab drill \(command)`") }

    private func error(_ message: String) -> DrillOptions.UsageError { DrillOptions.UsageError(message: message) }
}
