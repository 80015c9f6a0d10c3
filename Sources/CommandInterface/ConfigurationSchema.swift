import DaemonControl

/// One key that a program's configuration file may have: where it stands, what it may be, what it sets.
package struct ConfigurationKey<Settings> {
    package enum Field {
        case text(WritableKeyPath<Settings, String>)
        case optionalText(WritableKeyPath<Settings, String?>)
        case integer(WritableKeyPath<Settings, Int>, ClosedRange<Int>)
        case optionalInteger(WritableKeyPath<Settings, Int?>, ClosedRange<Int>)
        case boolean(WritableKeyPath<Settings, Bool>)
        case optionalBoolean(WritableKeyPath<Settings, Bool?>)
    }

    /// Empty before the first section.
    package let section: String
    package let name: String
    package let field: Field
    /// The only texts; empty where any may stand.
    package var choices: [String] = []
    /// Octets that a text may have.
    package var maximumOctets = 4096
    /// What is wrong with a text; nil for nothing.
    package var fault: (String) -> String? = { _ in nil }
    /// Whether a daemon that runs takes another value. Else that needs a restart.
    package var isLive = false

    package init(_ section: String, _ name: String, _ field: Field) {
        self.section = section
        self.name = name
        self.field = field
    }

    package func choices(_ choices: [String]) -> Self {
        var key = self
        key.choices = choices
        return key
    }

    package func maximumOctets(_ count: Int) -> Self {
        var key = self
        key.maximumOctets = count
        return key
    }

    package func fault(_ fault: @escaping (String) -> String?) -> Self {
        var key = self
        key.fault = fault
        return key
    }

    package func live() -> Self {
        var key = self
        key.isLive = true
        return key
    }

    /// As operators write it: `[lock] relock_seconds`.
    package var title: String { section.isEmpty ? name : "[\(section)] \(name)" }

    package func isSame(in first: Settings, and second: Settings) -> Bool {
        switch field {
        case .text(let path): first[keyPath: path] == second[keyPath: path]
        case .optionalText(let path): first[keyPath: path] == second[keyPath: path]
        case .integer(let path, _): first[keyPath: path] == second[keyPath: path]
        case .optionalInteger(let path, _): first[keyPath: path] == second[keyPath: path]
        case .boolean(let path): first[keyPath: path] == second[keyPath: path]
        case .optionalBoolean(let path): first[keyPath: path] == second[keyPath: path]
        }
    }

    package func copy(from source: Settings, to target: inout Settings) {
        switch field {
        case .text(let path): target[keyPath: path] = source[keyPath: path]
        case .optionalText(let path): target[keyPath: path] = source[keyPath: path]
        case .integer(let path, _): target[keyPath: path] = source[keyPath: path]
        case .optionalInteger(let path, _): target[keyPath: path] = source[keyPath: path]
        case .boolean(let path): target[keyPath: path] = source[keyPath: path]
        case .optionalBoolean(let path): target[keyPath: path] = source[keyPath: path]
        }
    }
}

/// Settings that a configuration file can make. A value of its own before any file is read has every default.
package protocol ConfiguredSettings {
    init()
    static var keys: [ConfigurationKey<Self>] { get }
    /// What a program ends with whose file cannot be read at present. The file may be right: the program is to be started again.
    static var unreadable: ExitCode { get }
}

extension ConfiguredSettings {
    /// - Throws: ``ConfigurationError``, the first, for a key that is unknown, or cannot be that.
    package mutating func apply(_ text: ConfigurationText, file: String) throws(ConfigurationError) {
        var faults: [ConfigurationError] = []
        apply(text, file: file, faults: &faults)
        if let first = faults.first { throw first }
    }

    /// Takes what can be taken. What is wrong with each of the others is added to `faults`.
    package mutating func apply(_ text: ConfigurationText, file: String, faults: inout [ConfigurationError]) {
        let keys = Self.keys
        for entry in text.entries {
            guard let key = keys.first(where: { $0.section == entry.section && $0.name == entry.key }) else {
                faults.append(Self.unknown(entry, file: file))
                continue
            }
            do throws(ConfigurationError) { try set(key, entry, file: file) } catch { faults.append(error) }
        }
    }

    private static func unknown(_ entry: ConfigurationText.Entry, file: String) -> ConfigurationError {
        let place = { (section: String) in section.isEmpty ? "before the first section" : "in section [\(section)]" }
        let remedy: String
        if let elsewhere = keys.first(where: { $0.name == entry.key }) {
            remedy = "it belongs \(place(elsewhere.section))"
        } else if let nearest = NearestName.of(entry.key, among: keys.map(\.name)) {
            remedy = "did you mean `\(nearest)`?"
        } else {
            remedy = "the keys are " + keys.map(\.name).joined(separator: ", ")
        }
        return ConfigurationError(
            file: file, position: entry.keyPosition, problem: "unknown key `\(entry.key)`", remedy: remedy)
    }

    private mutating func set(_ key: ConfigurationKey<Self>, _ entry: ConfigurationText.Entry, file: String)
        throws(ConfigurationError)
    {
        switch (key.field, entry.value) {
        case (.text(let path), .string(let text)): self[keyPath: path] = try checked(text, key, entry, file)
        case (.optionalText(let path), .string(let text)): self[keyPath: path] = try checked(text, key, entry, file)
        case (.boolean(let path), .boolean(let value)): self[keyPath: path] = value
        case (.optionalBoolean(let path), .boolean(let value)): self[keyPath: path] = value
        case (.integer(let path, let range), .integer(let value)):
            self[keyPath: path] = try checked(value, range, key, entry, file)
        case (.optionalInteger(let path, let range), .integer(let value)):
            self[keyPath: path] = try checked(value, range, key, entry, file)
        case (let field, let value):
            throw ConfigurationError(
                file: file, position: entry.valuePosition, problem: "key `\(key.name)` is \(value.kind)",
                remedy: "write " + field.expectation)
        }
    }

    private func checked(
        _ value: Int64, _ range: ClosedRange<Int>, _ key: ConfigurationKey<Self>, _ entry: ConfigurationText.Entry,
        _ file: String
    ) throws(ConfigurationError) -> Int {
        guard let integer = Int(exactly: value), range.contains(integer) else {
            throw ConfigurationError(
                file: file, position: entry.valuePosition, problem: "key `\(key.name)` is out of range",
                remedy: "write a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return integer
    }

    private func checked(
        _ text: String, _ key: ConfigurationKey<Self>, _ entry: ConfigurationText.Entry, _ file: String
    ) throws(ConfigurationError) -> String {
        let problem: String
        if !key.choices.isEmpty, !key.choices.contains(text) {
            problem = "write one of " + key.choices.map { "\"\($0)\"" }.joined(separator: ", ")
        } else if text.isEmpty || text.utf8.count > key.maximumOctets || text.unicodeScalars.contains("\0") {
            problem = "write 1 to \(key.maximumOctets) octets"
        } else if let fault = key.fault(text) {
            problem = fault
        } else {
            return text
        }
        throw ConfigurationError(
            file: file, position: entry.valuePosition, problem: "key `\(key.name)` cannot be that", remedy: problem)
    }
}

extension ConfigurationKey.Field {
    fileprivate var expectation: String {
        switch self {
        case .text, .optionalText: "a string in quotes"
        case .boolean, .optionalBoolean: "true or false"
        case .integer(_, let range), .optionalInteger(_, let range):
            "a number from \(range.lowerBound) to \(range.upperBound)"
        }
    }
}
