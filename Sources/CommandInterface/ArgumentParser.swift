/// Turns words into a command and its arguments. Every refusal names the option and the remedy.
package struct ArgumentParser: Sendable {
    package enum Parsed {
        case run(CommandSpec, ParsedArguments)
        case help(String)
        case version
    }

    package let program: CommandProgram
    private var commands: [CommandSpec] { program.commands }

    package init(_ program: CommandProgram) { self.program = program }

    package func parse(_ words: [String]) throws(Failure) -> Parsed {
        if words.first == "--version" || words.first == "version" { return .version }
        if words.first == "help" { return .help(try help(for: Array(words.dropFirst()))) }
        guard let command = command(for: words) else { return try parseGroup(words) }
        return try parse(Array(words.dropFirst(command.path.count)), for: command)
    }

    /// The command whose path the words begin with.
    private func command(for words: [String]) -> CommandSpec? {
        commands.first { $0.path.count <= words.count && $0.path == Array(words[..<$0.path.count]) }
    }

    /// Words that name no command: a group's help, or a mistake.
    private func parseGroup(_ words: [String]) throws(Failure) -> Parsed {
        let path = Array(words.prefix { !$0.hasPrefix("-") })
        let rest = words.dropFirst(path.count)
        guard program.groups.contains(path) else { throw unknownCommand(path) }
        guard let first = rest.first else {
            let next = program.nextWords(behind: path).joined(separator: ", ")
            let name = program.name(of: path)
            throw Failure(.usage, "`\(name)` needs a command: one of \(next) (see `\(name) --help`)")
        }
        guard first == "--help" || first == "-h" else {
            throw Failure(
                .usage,
                "unknown option `\(Self.nameOnly(first))`: options follow a command (see `\(program.name) --help`)")
        }
        return .help(try help(for: path))
    }

    private func unknownCommand(_ path: [String]) -> Failure {
        if let first = path.first, let other = program.elsewhere[first] {
            return Failure(
                .usage,
                "`\(program.name) \(first)` is a command of another program: use `\(other) \(first)` "
                    + "(see `\(other) \(first) --help`)")
        }
        var known: [String] = []
        for word in path {
            let next = program.nextWords(behind: known)
            guard !next.contains(word) else {
                known.append(word)
                continue
            }
            let name = program.name(of: known)
            let hint = NearestName.hint(for: word, among: next, prefix: name + " ")
            return Failure(.usage, "unknown command `\(name) \(word)`\(hint) (see `\(name) --help`)")
        }
        return Failure(.usage, "unknown command (see `\(program.name) --help`)")
    }

    private func help(for path: [String]) throws(Failure) -> String {
        if let command = commands.first(where: { $0.path == path }) { return Help.text(for: command, of: program) }
        guard program.groups.contains(path) else { throw unknownCommand(path) }
        return Help.text(forGroup: path, of: program)
    }

    private func parse(_ words: [String], for command: CommandSpec) throws(Failure) -> Parsed {
        var arguments = ParsedArguments(command: program.name(of: command.path))
        if case .forwarded = command.operands {
            if words.first == "--help" || words.first == "-h" { return .help(Help.text(for: command, of: program)) }
            arguments.operands = words
            return .run(command, arguments)
        }
        var rest = words[...]
        var optionsEnded = false
        while let word = rest.popFirst() {
            if optionsEnded || word == "-" || !word.hasPrefix("-") {
                try takeOperand(word, into: &arguments, for: command)
            } else if word == "--", case .program = command.operands {
                arguments.operands = Array(rest)
                rest = []
            } else if word == "--" {
                optionsEnded = true
            } else if word == "--help" || word == "-h" {
                return .help(Help.text(for: command, of: program))
            } else {
                try takeOption(word, rest: &rest, into: &arguments, for: command)
            }
        }
        for option in command.options where option.isRequired { _ = try arguments.required(option.name) }
        if case .program(let shown) = command.operands, arguments.operands.isEmpty {
            throw Failure(
                .usage,
                "`\(arguments.command)` needs `-- \(shown)` behind its options (see `\(arguments.command) --help`)")
        }
        if case .words(let shown) = command.operands,
            let missing = shown.dropFirst(arguments.operands.count).first(where: { !$0.hasPrefix("[") })
        {
            throw Failure(.usage, "`\(arguments.command)` needs \(missing) (see `\(arguments.command) --help`)")
        }
        return .run(command, arguments)
    }

    private func takeOperand(_ word: String, into arguments: inout ParsedArguments, for command: CommandSpec)
        throws(Failure)
    {
        switch command.operands {
        case .one(_, let refusal):
            // Never repeated in the message: it may be a secret that went astray.
            guard word == "-", arguments.operands.isEmpty else { throw Failure(.usage, refusal) }
            arguments.operands.append(word)
        case .words(let shown):
            guard arguments.operands.count < shown.count else {
                throw Failure(
                    .usage,
                    "`\(arguments.command)` takes \(shown.joined(separator: " ")), and `\(word)` is one more: put in quotes what has"
                        + " blanks (see `\(arguments.command) --help`)")
            }
            arguments.operands.append(word)
        case .none, .forwarded:
            throw Failure(
                .usage, "`\(arguments.command)` takes options only, not `\(word)` (see `\(arguments.command) --help`)")
        case .program:
            throw Failure(
                .usage,
                "`\(arguments.command)` takes a program behind `--`, not `\(word)` (see `\(arguments.command) --help`)")
        }
    }

    private func takeOption(
        _ word: String, rest: inout ArraySlice<String>, into arguments: inout ParsedArguments, for command: CommandSpec
    ) throws(Failure) {
        let shown = Self.nameOnly(word)
        let name = String(shown.drop { $0 == "-" })
        guard word.hasPrefix("--"), let option = command.options.first(where: { $0.name == name }) else {
            let hint = NearestName.hint(for: name, among: command.options.map(\.name), prefix: "--")
            throw Failure(
                .usage,
                "unknown option `\(shown)` for `\(arguments.command)`\(hint) (see `\(arguments.command) --help`)")
        }
        guard arguments.values[name] == nil, !arguments.flags.contains(name) else {
            throw Failure(.usage, "option `--\(name)` is given twice: keep one of them")
        }
        let attached: String? = word.count > shown.count ? String(word.dropFirst(shown.count + 1)) : nil
        guard let placeholder = option.value else {
            guard attached == nil else { throw Failure(.usage, "option `--\(name)` takes no value: write it alone") }
            arguments.flags.insert(name)
            return
        }
        let isNextAValue = rest.first.map { !$0.hasPrefix("--") } ?? false
        guard let value = attached ?? (isNextAValue ? rest.popFirst() : nil), !value.isEmpty else {
            throw Failure(
                .usage,
                "option `--\(name)` needs a value: `--\(name) \(placeholder)` (see `\(arguments.command) --help`)")
        }
        guard option.choices.isEmpty || option.choices.contains(value) else {
            throw Failure(
                .usage, "option `--\(name)` must be one of \(option.choices.joined(separator: ", ")), not `\(value)`")
        }
        if option.isRepeatable {
            arguments.lists[name, default: []].append(value)
        } else {
            arguments.values[name] = value
        }
    }

    /// An option without what follows its `=`, which may be a secret.
    private static func nameOnly(_ word: String) -> String { String(word.prefix { $0 != "=" }) }
}
