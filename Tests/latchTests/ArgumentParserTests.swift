import CommandInterface
import Testing

@testable import LatchLab
@testable import latch

extension CommandProgram: CustomTestStringConvertible {
    package var testDescription: String { name }
}

@Suite("Command line: parsing")
struct ArgumentParserTests {
    static let programs = [Latch.program(), LatchLab.program]

    /// A command of either program.
    struct Entry: Sendable, CustomTestStringConvertible {
        let program: CommandProgram
        let spec: CommandSpec
        var testDescription: String { program.name(of: spec.path) }
    }

    static let entries = programs.flatMap { program in program.commands.map { Entry(program: program, spec: $0) } }

    private static func arguments(_ words: String, of program: CommandProgram = Latch.program()) throws
        -> ParsedArguments
    {
        let parsed = try ArgumentParser(program).parse(words.split(separator: " ").map(String.init))
        guard case .run(_, let arguments) = parsed else {
            throw Failure(.usage, "not a run")
        }
        return arguments
    }

    @Test("an option and its value, both ways of writing it")
    func values() throws {
        for words in ["radio --socket a --control b --seed 7", "radio --socket=a --control=b --seed=7"] {
            let arguments = try Self.arguments(words, of: LatchLab.program)
            #expect(arguments["socket"] == "a")
            #expect(arguments["control"] == "b")
            #expect(try arguments.integer("seed", in: 0...UInt64.max) == 7)
        }
        #expect(try Self.arguments("central status --state=a=b --json")["state"] == "a=b")
        #expect(try Self.arguments("central status --state a --json").has("json"))
        #expect(try Self.arguments("central enroll --state a -").operands == ["-"])
    }

    @Test("words are taken in their order, those in brackets may be left out, and what follows `--` is a word")
    func words() throws {
        #expect(try Self.arguments("central note Front --state a").operands == ["Front"])
        #expect(try Self.arguments("central note --state a Front -- --x").operands == ["Front", "--x"])
        #expect(try Self.arguments("central calibrate --clear").operands.isEmpty)
        for wrong in ["central note --state a", "central note a b c", "central prefer a b", "central prefer --clear"] {
            #expect(throws: Failure.self, "\(wrong)") { try Self.arguments(wrong) }
        }
    }

    @Test("a number is digits alone", arguments: ["+7", "-0", "-7", "7_", "0x7", "٧", "18446744073709551616"])
    func signedNumber(text: String) throws {
        let arguments = try Self.arguments("radio --socket a --control b --seed=\(text)", of: LatchLab.program)
        let failure = #expect(throws: Failure.self) { try arguments.integer("seed", in: 0...UInt64.max) }
        #expect(failure?.code == .usage)
        #expect(failure?.message == "option `--seed` needs a number from 0 to 18446744073709551615, not `\(text)`")
    }

    @Test("an option that may be given again keeps its values in their order; any other is taken once")
    func repeated() throws {
        let set = "peripheral schedule set --state a --credential b"
        let arguments = try Self.arguments(
            set + " --weekdays mon --between=1 --weekdays=tue --between 2 --weekdays wed")
        #expect(arguments.all("weekdays") == ["mon", "tue", "wed"])
        #expect(arguments.all("between") == ["1", "2"])
        #expect(arguments.all("during").isEmpty && arguments["weekdays"] == nil)
        #expect(throws: Failure.self) { try Self.arguments(set + " --from 1 --from 2") }
    }

    @Test("the shortened list that a command line is parsed with has its command", arguments: Commands.all.map(\.path))
    func candidates(path: [String]) {
        #expect(Commands.candidates(for: path + ["--help"]).contains { $0.path == path })
    }

    @Test("every command explains itself", arguments: entries)
    func help(entry: Entry) throws {
        let (spec, path) = (entry.spec, entry.spec.path)
        for words in [path + ["--help"], path + ["-h"], ["help"] + path] {
            guard case .help(let text) = try ArgumentParser(entry.program).parse(words) else {
                Issue.record("no help for \(words)")
                continue
            }
            #expect(text.contains("Usage: \(entry.program.name(of: path))"))
            #expect(text.contains("Examples:"))
            for option in spec.options { #expect(text.contains("--\(option.name)")) }
            for line in text.split(separator: "\n") where !line.contains("--") { #expect(line.count <= Help.columns) }
        }
    }

    @Test("the examples of the help are commands that parse", arguments: programs)
    func examples(program: CommandProgram) throws {
        for example in program.examples + program.commands.flatMap(\.examples) {
            let words = example.split(separator: "#")[0].replacing(/"[^"]*"/, with: "quoted").split(separator: " ")
            #expect(words.first.map(String.init) == program.name)
            _ = try ArgumentParser(program).parse(words.dropFirst().map(String.init))
        }
    }

    @Test("no option is declared twice in one command")
    func unique() {
        for entry in Self.entries {
            let names = entry.spec.options.map(\.name)
            #expect(Set(names).count == names.count, "\(entry.testDescription)")
        }
    }

    @Test("the top help lists every command and every exit status", arguments: programs)
    func topHelp(program: CommandProgram) throws {
        guard case .help(let text) = try ArgumentParser(program).parse(["--help"]) else {
            Issue.record("no help")
            return
        }
        for spec in program.commands { #expect(text.contains(spec.path.joined(separator: " "))) }
        for status in program.exitStatuses { #expect(text.contains("\(status.code.rawValue)  \(status.meaning)")) }
        if program.name == "latch" { #expect(program.exitStatuses.map(\.code) == ExitCode.allCases) }
    }

    @Test("each program knows which commands are the other's")
    func elsewhere() {
        let (latch, lab) = (Latch.program(), LatchLab.program)
        // Each has a manual and a completion of its own.
        func first(_ program: CommandProgram) -> Set<String> {
            Set(program.commands.compactMap(\.path.first)).subtracting(["manual", "completion"])
        }
        #expect(Set(latch.elsewhere.keys) == first(lab) && Set(latch.elsewhere.values) == [lab.name])
        #expect(Set(lab.elsewhere.keys) == first(latch) && Set(lab.elsewhere.values) == [latch.name])
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
