import Testing

@testable import latch

@Suite("Command line: parsing")
struct ArgumentParserTests {
    private static let parser = ArgumentParser(commands: Commands.all)

    private static func arguments(_ words: String) throws -> ParsedArguments {
        guard case .run(_, let arguments) = try parser.parse(words.split(separator: " ").map(String.init)) else {
            throw Failure(.usage, "not a run")
        }
        return arguments
    }

    @Test("an option and its value, both ways of writing it")
    func values() throws {
        for words in ["radio --socket a --control b --seed 7", "radio --socket=a --control=b --seed=7"] {
            let arguments = try Self.arguments(words)
            #expect(arguments["socket"] == "a")
            #expect(arguments["control"] == "b")
            #expect(try arguments.integer("seed", in: 0...UInt64.max) == 7)
        }
        #expect(try Self.arguments("central status --state=a=b --json")["state"] == "a=b")
        #expect(try Self.arguments("central status --state a --json").has("json"))
        #expect(try Self.arguments("central enroll --state a -").operands == ["-"])
    }

    @Test("the shortened list that a command line is parsed with has its command", arguments: Commands.all.map(\.path))
    func candidates(path: [String]) {
        #expect(Commands.candidates(for: path + ["--help"]).contains { $0.path == path })
    }

    @Test("every command explains itself", arguments: Commands.all.map(\.path))
    func help(path: [String]) throws {
        let spec = try #require(Commands.all.first { $0.path == path })
        for words in [path + ["--help"], path + ["-h"], ["help"] + path] {
            guard case .help(let text) = try Self.parser.parse(words) else {
                Issue.record("no help for \(words)")
                continue
            }
            #expect(text.contains("Usage: \(spec.name)"))
            #expect(text.contains("Examples:"))
            for option in spec.options { #expect(text.contains("--\(option.name)")) }
            for line in text.split(separator: "\n") where !line.contains("--") { #expect(line.count <= Help.columns) }
        }
    }

    @Test("the examples of the help are commands that parse", arguments: Commands.all.flatMap(\.examples))
    func examples(example: String) throws {
        let command = example.split(separator: "#")[0].replacing("\"Front door\"", with: "Front")
        _ = try Self.parser.parse(command.split(separator: " ").dropFirst().map(String.init))
    }

    @Test("no option is declared twice in one command")
    func unique() {
        for spec in Commands.all { #expect(Set(spec.options.map(\.name)).count == spec.options.count, "\(spec.name)") }
    }

    @Test("the top help lists every command and every exit status")
    func topHelp() throws {
        guard case .help(let text) = try Self.parser.parse(["--help"]) else {
            Issue.record("no help")
            return
        }
        for spec in Commands.all { #expect(text.contains(spec.path.joined(separator: " "))) }
        for code in ExitCode.allCases { #expect(text.contains("\(code.rawValue)  \(code.meaning)")) }
    }

    @Test(
        "the nearest name is near",
        arguments: [
            ("relok_seconds", "relock_seconds"), ("transprt", "transport"), ("satte", "state"), ("xyz", nil), ("", nil),
        ])
    func nearest(name: String, expected: String?) {
        #expect(NearestName.of(name, among: ["transport", "state", "relock_seconds", "journal"]) == expected)
    }
}
