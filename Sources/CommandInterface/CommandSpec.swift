import BluetoothCore

/// An option: `--name VALUE`, `--name=VALUE`, or `--name` alone.
package struct OptionSpec: Sendable {
    package let name: String
    /// What stands for the value in the help; nil for a flag.
    package let value: String?
    package let summary: String
    package let isRequired: Bool
    /// The only values; empty where any text may stand.
    package let choices: [String]
    /// Given again it adds a value, in their order.
    package var isRepeatable = false

    package static func flag(_ name: String, _ summary: String) -> OptionSpec {
        OptionSpec(name: name, value: nil, summary: summary, isRequired: false, choices: [])
    }

    package static func value(_ name: String, _ value: String, _ summary: String, isRequired: Bool = false)
        -> OptionSpec
    {
        OptionSpec(name: name, value: value, summary: summary, isRequired: isRequired, choices: [])
    }

    /// One that may be given again.
    package static func values(_ name: String, _ value: String, _ summary: String) -> OptionSpec {
        var option = Self.value(name, value, summary)
        option.isRepeatable = true
        return option
    }

    package static func choice(_ name: String, _ choices: [String], _ summary: String) -> OptionSpec {
        OptionSpec(
            name: name, value: choices.joined(separator: "|"), summary: summary, isRequired: false, choices: choices)
    }
}

/// What a command does with words that are no options.
package enum OperandSpec: Sendable {
    case none
    /// At most one, shown as that in the help, for instance `[-]`.
    case one(String, refusal: String)
    /// Words that are no secrets, in this order and shown as that in the help: for instance `LOCK` and `[TEXT]`, which may be left out.
    case words([String])
    /// All that follows belongs to somebody else's parser.
    case forwarded(String)
    /// A program and its arguments behind `--`, shown as that in the help.
    case program(String)
}

/// One command: everything that its help says and its parser knows.
package struct CommandSpec: Sendable {
    package let path: [String]
    package let summary: String
    package let details: [String]
    package let options: [OptionSpec]
    package let operands: OperandSpec
    package let examples: [String]
    package let run: @Sendable (ParsedArguments) throws -> ExitCode

    package init(
        path: [String], summary: String, details: [String] = [], options: [OptionSpec] = [],
        operands: OperandSpec = .none, examples: [String] = [],
        run: @escaping @Sendable (ParsedArguments) throws -> ExitCode
    ) {
        self.path = path
        self.summary = summary
        self.details = details
        self.options = options
        self.operands = operands
        self.examples = examples
        self.run = run
    }
}

/// What the command line said, checked against its command.
package struct ParsedArguments: Sendable {
    /// The program's name and the command's.
    package let command: String
    package var values: [String: String] = [:]
    /// Of options that may be given again.
    package var lists: [String: [String]] = [:]
    package var flags: Set<String> = []
    package var operands: [String] = []

    package init(command: String) { self.command = command }

    package subscript(name: String) -> String? { values[name] }

    /// None when the option is absent.
    package func all(_ name: String) -> [String] { lists[name] ?? [] }

    package func has(_ flag: String) -> Bool { flags.contains(flag) }

    /// nil when the option is absent.
    package func integer<Number: FixedWidthInteger>(_ name: String, in range: ClosedRange<Number>) throws(Failure)
        -> Number?
    {
        guard let text = values[name] else { return nil }
        guard let number = Number(digits: text), range.contains(number) else {
            throw Failure(
                .usage,
                "option `--\(name)` needs a number from \(range.lowerBound) to \(range.upperBound), not `\(text)`")
        }
        return number
    }

    /// For an option that the parser has already required.
    package func required(_ name: String) throws(Failure) -> String {
        guard let value = values[name] else {
            throw Failure(.usage, "`\(command)` needs option `--\(name)`: see `\(command) --help`")
        }
        return value
    }
}
