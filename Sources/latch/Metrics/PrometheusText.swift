/// One metric with its samples, as node_exporter's collector for text files reads it.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats (Text-based format, version 0.0.4)
struct MetricFamily: Equatable, Sendable {
    enum Kind: String, Sendable { case counter, gauge }

    struct Sample: Equatable, Sendable {
        var labels: [(name: String, value: String)]
        var value: UInt64

        static func == (one: Self, other: Self) -> Bool {
            one.value == other.value && one.labels.elementsEqual(other.labels) { $0 == $1 }
        }
    }

    let name: String
    let kind: Kind
    let help: String
    var samples: [Sample]

    init(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample] = []) {
        (self.name, self.kind, self.help, self.samples) = (name, kind, help, samples)
    }

    /// One sample without labels.
    init(_ name: String, _ kind: Kind, _ help: String, value: UInt64) {
        self.init(name, kind, help, [Sample(labels: [], value: value)])
    }

    /// One sample for each of `states`, 1 for the one that is and 0 for the others.
    init(_ name: String, _ help: String, label: String, states: [String], is state: String) {
        self.init(
            name, .gauge, help,
            states.map { Sample(labels: [(label, $0)], value: $0 == state ? 1 : 0) })
    }

    /// Its lines, each with a line feed; none where there is no sample.
    var text: String {
        guard !samples.isEmpty else { return "" }
        var text = "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            let labels = sample.labels.map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
            text += name + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}") + " \(sample.value)\n"
        }
        return text
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
