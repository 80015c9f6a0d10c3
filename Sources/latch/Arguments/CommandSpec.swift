/// An option: `--name VALUE`, `--name=VALUE`, or `--name` alone.
struct OptionSpec: Sendable {
    let name: String
    /// What stands for the value in the help; nil for a flag.
    let value: String?
    let summary: String
    let isRequired: Bool
    /// The only values; empty where any text may stand.
    let choices: [String]

    static func flag(_ name: String, _ summary: String) -> OptionSpec {
        OptionSpec(name: name, value: nil, summary: summary, isRequired: false, choices: [])
    }

    static func value(_ name: String, _ value: String, _ summary: String, isRequired: Bool = false) -> OptionSpec {
        OptionSpec(name: name, value: value, summary: summary, isRequired: isRequired, choices: [])
    }

    static func choice(_ name: String, _ choices: [String], _ summary: String) -> OptionSpec {
        OptionSpec(
            name: name, value: choices.joined(separator: "|"), summary: summary, isRequired: false, choices: choices)
    }
}

/// What a command does with words that are no options.
enum OperandSpec: Sendable {
    case none
    /// At most one, shown as that in the help, for instance `[-]`.
    case one(String, refusal: String)
    /// All that follows belongs to somebody else's parser.
    case forwarded(String)
}

/// One command: everything that its help says and its parser knows.
struct CommandSpec: Sendable {
    let path: [String]
    let summary: String
    var details: [String] = []
    var options: [OptionSpec] = []
    var operands: OperandSpec = .none
    var examples: [String] = []
    let run: @Sendable (ParsedArguments) throws -> ExitCode

    var name: String { (["latch"] + path).joined(separator: " ") }
}

/// What the command line said, checked against its command.
struct ParsedArguments: Sendable {
    let command: String
    var values: [String: String] = [:]
    var flags: Set<String> = []
    var operands: [String] = []

    init(command: String) { self.command = command }

    subscript(name: String) -> String? { values[name] }

    func has(_ flag: String) -> Bool { flags.contains(flag) }

    /// nil when the option is absent.
    func integer<Number: FixedWidthInteger>(_ name: String, in range: ClosedRange<Number>) throws(Failure) -> Number? {
        guard let text = values[name] else { return nil }
        guard let number = Number(text), range.contains(number) else {
            throw Failure(
                .usage,
                "option `--\(name)` needs a number from \(range.lowerBound) to \(range.upperBound), not `\(text)`")
        }
        return number
    }

    /// For an option that the parser has already required.
    func required(_ name: String) throws(Failure) -> String {
        guard let value = values[name] else {
            throw Failure(.usage, "`\(command)` needs option `--\(name)`: see `\(command) --help`")
        }
        return value
    }
}
