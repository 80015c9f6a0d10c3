/// What `--help` says, made from the same table that the parser reads.
package enum Help {
    package static let columns = 100

    static func text(for command: CommandSpec, of program: CommandProgram) -> String {
        var lines = [command.summary, "", "Usage: " + usage(of: command, of: program)]
        for detail in command.details { lines += [""] + wrapped(detail, indent: 0) }
        lines += ["", "Options:"]
        let options = command.options + [.flag("help", "Say this.")]
        let labels = options.map { option in "--\(option.name)" + (option.value.map { " \($0)" } ?? "") }
        for (label, option) in zip(labels, options) {
            lines += entry(label, option.summary + (option.isRequired ? " Required." : ""))
        }
        if !command.examples.isEmpty { lines += ["", "Examples:"] + command.examples.map { "  \($0)" } }
        return lines.joined(separator: "\n") + "\n"
    }

    static func text(forGroup path: [String], of program: CommandProgram) -> String {
        let name = program.name(of: path)
        var lines = path.isEmpty ? [program.summary, ""] : []
        lines += ["Usage: \(name) COMMAND [OPTIONS]", "", "Commands:"]
        for command in program.commands where command.path.starts(with: path) {
            lines += entry(command.path.joined(separator: " "), command.summary)
        }
        lines += ["", "Every command explains itself: `\(name) COMMAND --help`."]
        if path.isEmpty {
            lines += ["", "Examples:"] + program.examples.map { "  \($0)" }
            lines += ["", "Exit status:"] + program.exitStatuses.map { "  \($0.code.rawValue)  \($0.meaning)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    static func usage(of command: CommandSpec, of program: CommandProgram) -> String {
        var words = [program.name(of: command.path)]
        for option in command.options where option.isRequired {
            words.append("--\(option.name) " + (option.value ?? ""))
        }
        if command.options.contains(where: { !$0.isRequired }) { words.append("[OPTIONS]") }
        switch command.operands {
        case .none: break
        case .one(let shown, _), .forwarded(let shown): words.append(shown)
        case .words(let shown): words += shown
        case .program(let shown): words += ["--", shown]
        }
        return words.joined(separator: " ")
    }

    /// A label, and its text beside it or, when the label is long, below it.
    private static func entry(_ label: String, _ text: String) -> [String] {
        let indent = 30
        var lines = wrapped(text, indent: indent)
        let head = "  " + label
        guard head.count < indent else { return [head] + lines }
        lines[0] = head + String(repeating: " ", count: indent - head.count) + lines[0].drop { $0 == " " }
        return lines
    }

    private static func wrapped(_ text: String, indent: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, indent + line.count + 1 + word.count > columns {
                lines.append(margin + line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return lines + [margin + line]
    }
}
