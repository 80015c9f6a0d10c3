import Glibc

/// An executable with commands: what it is called, what its top help says, and how it begins and ends.
package struct CommandProgram: Sendable {
    /// Of every program of the package.
    package static let version = "0.1.0"

    package let name: String
    package let summary: String
    package let commands: [CommandSpec]
    package let examples: [String]
    /// The statuses that it ends with, and what each means here.
    package let exitStatuses: [(code: ExitCode, meaning: String)]
    /// First words that it does not know, and the program that does.
    package let elsewhere: [String: String]
    /// Runs before a command, and not before help.
    package let prepare: @Sendable () -> Void

    package init(
        name: String, summary: String, commands: [CommandSpec], examples: [String],
        exitStatuses: [(code: ExitCode, meaning: String)], elsewhere: [String: String],
        prepare: @escaping @Sendable () -> Void = {}
    ) {
        self.name = name
        self.summary = summary
        self.commands = commands
        self.examples = examples
        self.exitStatuses = exitStatuses
        self.elsewhere = elsewhere
        self.prepare = prepare
    }

    /// What somebody types to get there.
    package func name(of path: [String]) -> String { ([name] + path).joined(separator: " ") }

    /// The paths that are no command themselves, and that commands begin with: none at all first, then in the table's order.
    var groups: [[String]] {
        var groups: [[String]] = [[]]
        for command in commands {
            for count in 1..<max(1, command.path.count) {
                let path = Array(command.path.prefix(count))
                let isCommand = commands.contains { $0.path == path }
                if !isCommand, !groups.contains(path) { groups.append(path) }
            }
        }
        return groups
    }

    /// The words that go on behind these towards a command, each once and in the table's order.
    func nextWords(behind path: [String]) -> [String] {
        var words: [String] = []
        for command in commands where command.path.count > path.count && command.path.starts(with: path) {
            let word = command.path[path.count]
            if !words.contains(word) { words.append(word) }
        }
        return words
    }

    /// Parses the words, runs the command they name, and says in one line and one number how it went.
    package func main(_ words: [String]) -> Never {
        do {
            exit(try run(words).rawValue)
        } catch {
            let failure = error as? Failure ?? Failure(.refused, String(describing: error))
            Output.failure(failure, of: name, json: words.contains("--json"))
            exit(failure.code.rawValue)
        }
    }

    private func run(_ words: [String]) throws -> ExitCode {
        guard !words.isEmpty else {
            throw Failure(.usage, "a command is needed: `\(name) --help` lists them")
        }
        switch try ArgumentParser(self).parse(words) {
        case .help(let text):
            Output.write(text)
            return .ok
        case .version:
            Output.write("\(name) \(Self.version)\n")
            return .ok
        case .run(let command, let arguments):
            prepare()
            return try command.run(arguments)
        }
    }
}
