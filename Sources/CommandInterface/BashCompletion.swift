/// A bash completion of a program's commands, options and choices, made from the same table that the parser reads.
package enum BashCompletion {
    package static func text(for program: CommandProgram) -> String {
        let function = "_" + program.name.map { $0 == "-" ? "_" : $0 }
        var lines = [
            "# bash completion for \(program.name) \(CommandProgram.version)",
            "\(function)() {",
            "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path= words= index",
            "    COMPREPLY=()",
            "    for ((index = 1; index < COMP_CWORD; index++)); do",
            "        case ${COMP_WORDS[index]} in -*) break ;; esac",
            "        path+=${path:+ }${COMP_WORDS[index]}",
            "    done",
            "    case $path in",
        ]
        for path in program.groups {
            let extra = path.isEmpty ? ["help", "version", "--help", "--version"] : ["--help"]
            lines += ["    \(quoted(path.joined(separator: " "))))"]
            lines += [
                "        words=\(quoted((program.nextWords(behind: path) + extra).joined(separator: " ")))",
                "        ;;",
            ]
        }
        for command in program.commands { lines += entry(for: command) }
        lines += [
            "    esac",
            "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))",
            "} &&",
            "    complete -F \(function) \(program.name)",
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    /// What may stand behind a command, and behind those of its options that have a value.
    private static func entry(for command: CommandSpec) -> [String] {
        var lines = ["    \(quoted(command.path.joined(separator: " "))))", "        case $before in"]
        for option in command.options {
            guard let value = option.value else { continue }
            let reply: String =
                if !option.choices.isEmpty {
                    "-W \(quoted(option.choices.joined(separator: " ")))"
                } else if value.contains("FILE") || value.contains("PATH") {
                    "-f"
                } else if value.contains("DIR") {
                    "-d"
                } else {
                    "-W ''"
                }
            lines.append("        --\(option.name)) COMPREPLY=($(compgen \(reply) -- \"$word\")); return ;;")
        }
        let words = command.options.map { "--" + $0.name } + ["--help"]
        return lines + ["        esac", "        words=\(quoted(words.joined(separator: " ")))", "        ;;"]
    }

    private static func quoted(_ text: String) -> String { "'\(text)'" }
}
