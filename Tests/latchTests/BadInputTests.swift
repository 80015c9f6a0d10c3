import CommandInterface
import DaemonControl
import Foundation
import Testing

@testable import latch

/// The real binary, and what its operator gets to see.
@Suite("Command line: bad inputs")
struct BadInputTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var words: String
        var code: ExitCode
        /// What the line must name.
        var names: [String]
        var program = "latch"
        var testDescription: String { "\(program) \(words)" }
    }

    static let cases: [Case] = [
        Case(words: "", code: .usage, names: ["latch --help"]),
        Case(words: "peripheral", code: .usage, names: ["run, enroll, disable, enable, remove, bonds, users, status"]),
        Case(words: "perpheral run", code: .usage, names: ["`latch perpheral`", "did you mean `latch peripheral`"]),
        Case(words: "peripheral rum", code: .usage, names: ["did you mean `latch peripheral run`"]),
        Case(words: "--jsn", code: .usage, names: ["`--jsn`"]),
        Case(words: "help nothing", code: .usage, names: ["nothing"]),
        Case(
            words: "peripheral run --transprt x", code: .usage, names: ["`--transprt`", "did you mean `--transport`"]),
        Case(words: "peripheral run -t x", code: .usage, names: ["`-t`"]),
        Case(words: "peripheral run --transport", code: .usage, names: ["`--transport`", "needs a value"]),
        Case(words: "peripheral run --transport --state x", code: .usage, names: ["`--transport`", "needs a value"]),
        Case(words: "peripheral run --transport=", code: .usage, names: ["`--transport`", "needs a value"]),
        Case(words: "peripheral run --state a --state b", code: .usage, names: ["`--state`", "twice"]),
        Case(words: "peripheral run --json=yes", code: .usage, names: ["`--json`", "takes no value"]),
        Case(words: "peripheral run now", code: .usage, names: ["`now`"]),
        Case(words: "peripheral run --log-level loud", code: .usage, names: ["`--log-level`", "debug, info"]),
        Case(words: "peripheral run --state /", code: .usage, names: ["`--transport ADDRESS`"]),
        Case(words: "peripheral run --transport hci:0", code: .usage, names: ["`--state DIR`"]),
        Case(
            words: "peripheral run --transport hci:0 --state /nonexistent", code: .state, names: ["install -d -m 0700"]),
        Case(words: "peripheral run --transport hci:0 --state /dev/null", code: .state, names: ["no directory"]),
        Case(words: "peripheral run --config /nonexistent", code: .configuration, names: ["/nonexistent", "--config"]),
        Case(words: "peripheral run --config /dev/zero", code: .configuration, names: ["/dev/zero"]),
        Case(words: "peripheral enroll --state x", code: .usage, names: ["`--credential`"]),
        Case(
            words: "peripheral enroll --state x --credential a --seconds 0", code: .usage,
            names: ["`--seconds`", "3600"]),
        Case(
            words: "peripheral enroll --state x --credential a --role king", code: .usage, names: ["`--role`", "owner"]),
        Case(words: "central unlock --state x --wait soon", code: .usage, names: ["`--wait`", "`soon`"]),
        Case(
            words: "central unlock --state x --nearest --lock y", code: .usage,
            names: ["--nearest and --lock do not go together"]),
        Case(words: "central lock --state x --nearest", code: .usage, names: ["`--nearest`"]),
        Case(words: "central lock --state x --notify", code: .usage, names: ["`--notify`"]),
        Case(words: "central status --state /nonexistent", code: .state, names: ["/nonexistent"]),
        Case(
            words: "central status", code: .usage,
            names: ["`latch central status` needs", "`--state DIR`", "`--config FILE`", "`--socket PATH`", "--help"]),
        Case(
            words: "peripheral stop --state x --socket y", code: .usage,
            names: ["`--state` and `--socket`", "keep one"]),
        Case(words: "central enroll --state x --config y -", code: .usage, names: ["`--state` and `--config`"]),
        Case(words: "central enroll -", code: .usage, names: ["`--socket PATH`"]),
        Case(words: "central status --config /nonexistent", code: .configuration, names: ["/nonexistent"]),
        Case(words: "central status --config /dev/null", code: .configuration, names: ["/dev/null", "`state`"]),
        Case(
            words: "central status --socket /nonexistent/s", code: .unavailable, names: ["/nonexistent/s", "--socket"]),
        Case(
            words: "central status --socket /\(String(repeating: "s", count: 120))", code: .state,
            names: ["107 octets"]),
        Case(words: "central status --socket /tmp/latch-nobody", code: .state, names: ["directory /tmp", "anybody"]),
        Case(words: "central enroll --state x --code-file /nonexistent", code: .usage, names: ["`--code-file`"]),
        Case(words: "central enroll --state x --code-file y -", code: .usage, names: ["`-`", "`--code-file`"]),
        Case(
            words: "central calibrate --state x", code: .usage,
            names: ["nobody can be asked here", "`--yes`"]),
        Case(words: "central calibrate a b --state x --yes", code: .usage, names: ["[LOCK]", "`b`", "quotes"]),
        Case(words: "central calibrate", code: .usage, names: ["`--socket PATH`"]),
        Case(words: "central calibrate --clear --svg x", code: .usage, names: ["`--clear`", "`--svg`"]),
        Case(words: "central calibrate --clear --seconds 5", code: .usage, names: ["`--clear`", "`--seconds`"]),
        Case(words: "central calibrate --state x --yes --seconds 1", code: .usage, names: ["`--seconds`", "2 to 60"]),
        Case(words: "central calibrate --state x --yes --svg -", code: .usage, names: ["`--svg`", "a file's name"]),
        Case(
            words: "central calibrate --state x --yes --svg /nonexistent/w.svg", code: .refused,
            names: ["/nonexistent/w.svg"]),
        Case(words: "central note --state x", code: .usage, names: ["needs LOCK", "--help"]),
        Case(words: "central note a b --clear --state x", code: .usage, names: ["`--clear`", "keep one"]),
        Case(words: "central note a b c --state x", code: .usage, names: ["LOCK [TEXT]", "`c`", "quotes"]),
        Case(
            words: "central note a \(String(repeating: "x", count: 129)) --state x", code: .usage,
            names: ["128 octets"]),
        Case(words: "central note a \u{1B}[31m --state x", code: .usage, names: ["control characters"]),
        Case(words: "central note a b --state /nonexistent", code: .state, names: ["/nonexistent"]),
        Case(words: "central prefer --state x", code: .usage, names: ["needs LOCK"]),
        Case(words: "central prefer a b --state x", code: .usage, names: ["`b`", "quotes"]),
        Case(words: "central prefer a", code: .usage, names: ["`latch central prefer` needs", "`--state DIR`"]),
        Case(words: "central prefer a --socket /nonexistent/s", code: .unavailable, names: ["/nonexistent/s"]),
        Case(words: "proximity walks --door 1", code: .usage, names: ["`--door`", "`--svg`"], program: "latch-lab"),
        Case(words: "proximity walks --doors 0", code: .usage, names: ["`--doors`", "100000"], program: "latch-lab"),
        Case(words: "radio --socket a", code: .usage, names: ["`--control`"], program: "latch-lab"),
        Case(words: "radio --socket a --control b --seed -1", code: .usage, names: ["`--seed`"], program: "latch-lab"),
        Case(
            words: "radio --socket a --control b --air thick", code: .usage, names: ["`--air`", "paced, immediate"],
            program: "latch-lab"),
        Case(words: "", code: .usage, names: ["latch-lab --help"], program: "latch-lab"),
        Case(words: "raido", code: .usage, names: ["did you mean `latch-lab radio`"], program: "latch-lab"),
        Case(words: "--jsn", code: .usage, names: ["`--jsn`", "latch-lab --help"], program: "latch-lab"),
        // Each has commands that somebody looks for in the other.
        Case(words: "radio --socket a --control b", code: .usage, names: ["`latch radio`", "use `latch-lab radio`"]),
        Case(words: "radio --help", code: .usage, names: ["use `latch-lab radio`"]),
        Case(words: "help drill", code: .usage, names: ["use `latch-lab drill`"]),
        Case(words: "drill processes --kills 1", code: .usage, names: ["use `latch-lab drill`"]),
        Case(
            words: "central unlock --state x", code: .usage, names: ["`latch-lab central`", "use `latch central`"],
            program: "latch-lab"),
    ]

    @Test("one line that names the mistake and the remedy, and a status that means it", arguments: cases)
    func badInput(input: Case) throws {
        let path = input.program == "latch" ? Program.path : Program.lab
        let outcome = try Program.run(input.words.split(separator: " ").map(String.init), of: path)
        #expect(outcome.status == input.code.rawValue)
        #expect(outcome.errorLines.count == 1, "\(outcome.errors)")
        #expect(outcome.errors.hasPrefix("\(input.program): "))
        #expect(outcome.output.isEmpty)
        for name in input.names { #expect(outcome.errors.contains(name), "\(outcome.errors)") }
    }

    @Test("a setup code that went astray into the arguments is refused and not repeated")
    func secretInArguments() throws {
        for words in [["SECRETCODE"], ["-", "SECRETCODE"], ["--code=SECRETCODE"], ["--json", "SECRETCODE"]] {
            let outcome = try Program.run(["central", "enroll", "--state", "x"] + words)
            #expect(outcome.status == ExitCode.usage.rawValue)
            #expect(!(outcome.errors + outcome.output).contains("SECRETCODE"))
        }
    }

    @Test("a setup code on standard input that is none is refused", arguments: ["", " \n ", "two words", "x\0\u{1}"])
    func codeOnInput(input: String) throws {
        let directory = try TemporaryDirectory()
        let outcome = try Program.run(["central", "enroll", "--state", directory.path, "-"], input: input)
        #expect(outcome.status != 0)
        #expect(outcome.errorLines.count == 1)
    }

    @Test("a setup code longer than any is refused")
    func longCode() throws {
        let outcome = try Program.run(
            ["central", "enroll", "--state", "x", "-"], input: String(repeating: "A", count: 10_000))
        #expect(outcome.status == ExitCode.usage.rawValue)
        #expect(outcome.errors.contains("\(SetupCodeInput.maximumOctets) octets"))
    }

    @Test("a mistake in a configuration file is said with file, line, column, key and what was meant")
    func configuration() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("transport = \"hci:0\"\n[lock]\n  relok_seconds = 5\n", to: "p.conf")
        let outcome = try Program.run(["peripheral", "run", "--config", file])
        #expect(outcome.status == ExitCode.configuration.rawValue)
        #expect(
            outcome.errors
                == "latch: unknown key `relok_seconds` in \(file) line 3 column 3: did you mean `relock_seconds`?\n")
    }

    @Test("a configuration file of the greatest length is read, one octet more is not")
    func longConfiguration() throws {
        let directory = try TemporaryDirectory()
        func outcome(_ octets: Int) throws -> Program.Outcome {
            let comment = "#" + String(repeating: "x", count: octets - 2) + "\n"
            return try Program.run(["peripheral", "run", "--config", try directory.write(comment, to: "p.conf")])
        }
        let most = ConfigurationText.maximumFileOctets
        #expect(try outcome(most).status == ExitCode.usage.rawValue, "it was read, and names no transport")
        let refused = try outcome(most + 1)
        #expect(refused.status == ExitCode.configuration.rawValue)
        #expect(refused.errors.contains("\(most) octets"))
    }

    @Test("a state directory that others can enter is refused")
    func openDirectory() throws {
        let directory = try TemporaryDirectory(mode: 0o755)
        let outcome = try Program.run(["peripheral", "run", "--transport", "hci:0", "--state", directory.path])
        #expect(outcome.status == ExitCode.state.rawValue)
        #expect(outcome.errors.contains("chmod 0700 \(directory.path)"))
    }

    @Test("no daemon: the status says so, for people and for programs", arguments: ["peripheral", "central"])
    func notRunning(role: String) throws {
        let directory = try TemporaryDirectory()
        let outcome = try Program.run([role, "status", "--state", directory.path, "--json"])
        #expect(outcome.status == ExitCode.unavailable.rawValue)
        #expect(outcome.errors.contains("\(directory.path)/\(role).sock"))
        let reply = ControlReply(line: Array(outcome.output.utf8.dropLast()))
        guard case .error(let failure) = reply else {
            Issue.record("no JSON: \(outcome.output)")
            return
        }
        #expect(failure.code.rawValue == "unavailable")
    }

    @Test("help and version go to standard output and are no failure")
    func help() throws {
        for words in [["--help"], ["help"], ["-h"], ["peripheral", "--help"], ["peripheral", "run", "--help"]] {
            let outcome = try Program.run(words)
            #expect(outcome.status == 0)
            #expect(outcome.errors.isEmpty)
            #expect(outcome.output.contains("Usage: latch"))
        }
        #expect(try Program.run(["--version"]).output == "latch \(CommandProgram.version)\n")
        #expect(try Program.run(["--version"], of: Program.lab).output == "latch-lab \(CommandProgram.version)\n")
    }
}
