import Foundation
import Testing

@testable import CommandInterface
@testable import latch

/// What packages have of the table of commands.
@Suite("The manual and the completion")
struct ReferenceTests {
    /// What bash offers behind these words, the last of which is being typed.
    private static func offered(_ words: String..., by program: String = Program.path) throws -> [String] {
        let name = (program as NSString).lastPathComponent
        let function = "_" + name.replacingOccurrences(of: "-", with: "_")
        let typed = ([name] + words).map { "'\($0)'" }.joined(separator: " ")
        let script = """
            source <('\(program)' completion)
            COMP_WORDS=(\(typed))
            COMP_CWORD=\(words.count)
            \(function)
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let outcome = try Program.run(["--norc", "-c", script], of: "/bin/bash")
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
        return outcome.output.split(separator: "\n").map(String.init)
    }

    @Test("bash offers commands, their options, the choices of an option, and files where one is meant")
    func completion() throws {
        #expect(try Self.offered("per") == ["peripheral"])
        let commands = try Self.offered("peripheral", "")
        #expect(Set(["run", "enroll", "bonds", "users", "schedule", "mode", "--help"]).isSubset(of: commands))
        #expect(try Self.offered("peripheral", "mode", "--wro").isEmpty)
        #expect(try Self.offered("peripheral", "run", "--tr") == ["--transport"])
        #expect(try Self.offered("peripheral", "run", "--state", "x", "--log-level", "w") == ["warning"])
        let directory = try TemporaryDirectory()
        let file = try directory.write("", to: "lock.conf")
        #expect(try Self.offered("peripheral", "run", "--config", directory.path + "/lo") == [file])
        // A secret, or a name: nothing stands for it.
        #expect(try Self.offered("peripheral", "enroll", "--credential", "").isEmpty)
        #expect(try Self.offered("dr", by: Program.lab) == ["drill"])
    }

    @Test("every command and option of the table is offered")
    func everyOption() throws {
        let text = BashCompletion.text(for: Latch.program())
        for command in Commands.all {
            let name = command.path.joined(separator: " ")
            let entry = try #require(text.range(of: "    '\(name)')\n"), "\(name)")
            let rest = text[entry.upperBound...]
            let body = rest[..<(rest.range(of: "\n        ;;")?.lowerBound ?? rest.endIndex)]
            for option in command.options { #expect(body.contains("--" + option.name), "\(name) --\(option.name)") }
        }
    }

    @Test(
        "the manual has a page for each command, with its options and examples, and none that roff would take for a macro"
    )
    func manual() throws {
        let directory = try TemporaryDirectory()
        #expect(try Program.run(["manual", "--to", directory.path]).status == 0)
        let program = Latch.program()
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(names.count == program.commands.count + 1)
        for command in program.commands {
            let name = (["latch"] + command.path).joined(separator: "-") + ".1"
            let page = try String(contentsOfFile: directory.path + "/" + name, encoding: .utf8)
            let plain = page.replacingOccurrences(of: "\\-", with: "-")
            for option in command.options {
                #expect(plain.contains("\\fB--\(option.name)\\fR"), "\(name) --\(option.name)")
            }
            for example in command.examples {
                #expect(plain.contains(example.replacingOccurrences(of: "\\", with: "\\e")))
            }
            for line in page.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
                let macro = line.split(separator: " ").first.map(String.init) ?? ""
                #expect([".TH", ".SH", ".PP", ".TP", ".nf", ".fi", ".BR"].contains(macro), "\(name): \(line)")
            }
        }
    }

    @Test("a text that looks like a macro is none, and an octet of the manual's own language is itself")
    func escapes() {
        #expect(ManualPage.escaped(".SH x") == "\\&.SH x")
        #expect(ManualPage.escaped("'quoted'") == "\\&'quoted'")
        #expect(ManualPage.escaped("a\\b-c\nd") == "a\\eb\\-c d")
    }

    @Test("a directory that is not there is named, with what to do")
    func nowhere() throws {
        let outcome = try Program.run(["manual", "--to", "/nowhere/at/all"])
        #expect(outcome.status == 1)
        #expect(outcome.errorLines.count == 1 && outcome.errors.contains("cannot write /nowhere/at/all/latch.1"))
    }
}
