/// The manual of a program, for man(1): a page for the program and one for each command, made from the same table as `--help`.
package struct ManualPage: Sendable {
    /// `latch-peripheral-run.1`.
    package let fileName: String
    /// In the macros of man(7).
    package let text: String

    package static func all(of program: CommandProgram) -> [ManualPage] {
        [page(of: program)] + program.commands.map { page(of: $0, program) }
    }

    private static func page(of program: CommandProgram) -> ManualPage {
        var lines = head(program.name, program.summary, program)
        lines += [".SH SYNOPSIS", "\(bold(program.name)) \(italic("COMMAND")) [\(italic("OPTIONS"))]"]
        lines += [".SH COMMANDS", "Each command has a page of its own, and explains itself with \(bold("--help"))."]
        for command in program.commands {
            lines += [".TP", bold(program.name(of: command.path)), escaped(command.summary)]
        }
        lines += [
            ".SH OPTIONS", ".TP", bold("--help"), "List the commands.", ".TP", bold("--version"), "Say the version.",
        ]
        lines += examples(program.examples) + statuses(of: program)
        lines += seeAlso(program.commands.map { name(of: $0, program) })
        return ManualPage(fileName: program.name + ".1", text: lines.joined(separator: "\n") + "\n")
    }

    private static func page(of command: CommandSpec, _ program: CommandProgram) -> ManualPage {
        var lines = head(name(of: command, program), command.summary, program)
        lines += [".SH SYNOPSIS", escaped(Help.usage(of: command, of: program))]
        lines += [".SH DESCRIPTION", escaped(command.summary)]
        for detail in command.details { lines += [".PP", escaped(detail)] }
        lines.append(".SH OPTIONS")
        for option in command.options + [.flag("help", "Say this.")] {
            let value = option.value.map { " " + italic($0) } ?? ""
            lines += [
                ".TP", bold("--" + option.name) + value,
                escaped(option.summary + (option.isRequired ? " Required." : "")),
            ]
        }
        lines += examples(command.examples) + statuses(of: program) + seeAlso([program.name])
        return ManualPage(fileName: name(of: command, program) + ".1", text: lines.joined(separator: "\n") + "\n")
    }

    private static func name(of command: CommandSpec, _ program: CommandProgram) -> String {
        ([program.name] + command.path).joined(separator: "-")
    }

    private static func head(_ name: String, _ summary: String, _ program: CommandProgram) -> [String] {
        let title = name.uppercased()
        return [
            ".TH \(escaped(title)) 1 \"\" \"\(program.name) \(CommandProgram.version)\" \"Latch\"",
            ".SH NAME", "\(escaped(name)) \\- \(escaped(summary))",
        ]
    }

    private static func examples(_ examples: [String]) -> [String] {
        guard !examples.isEmpty else { return [] }
        return [".SH EXAMPLES", ".nf"] + examples.map(escaped) + [".fi"]
    }

    private static func statuses(of program: CommandProgram) -> [String] {
        [".SH EXIT STATUS"] + program.exitStatuses.flatMap { [".TP", "\($0.code.rawValue)", escaped($0.meaning)] }
    }

    private static func seeAlso(_ names: [String]) -> [String] {
        [".SH SEE ALSO"]
            + names.enumerated().map { index, name in
                ".BR \(escaped(name)) (1)" + (index < names.count - 1 ? "," : "")
            }
    }

    private static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }
    private static func italic(_ text: String) -> String { "\\fI\(escaped(text))\\fR" }

    /// Text that man(7) takes for nothing but text: no macro at a line's begin, and a hyphen that can be copied.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        if text.hasPrefix(".") || text.hasPrefix("'") { escaped = "\\&" }
        for character in text {
            switch character {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "`": escaped += "\\(ga"
            case "~": escaped += "\\(ti"
            case "^": escaped += "\\(ha"
            default: escaped.append(character.isNewline ? " " : character)
            }
        }
        return escaped
    }
}
