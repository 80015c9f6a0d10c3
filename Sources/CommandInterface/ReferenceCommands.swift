import Glibc

/// What packagers ask a program for: its manual and its completion, as the table of its commands has them.
package enum ReferenceCommands {
    /// `program`, called `name`, is asked for when one of the two is run: they are among its commands.
    package static func all(of name: String, _ program: @escaping @Sendable () -> CommandProgram) -> [CommandSpec] {
        [completion(of: name, program), manual(of: name, program)]
    }

    private static func completion(of name: String, _ program: @escaping @Sendable () -> CommandProgram) -> CommandSpec
    {
        CommandSpec(
            path: ["completion"], summary: "Print a bash completion of every command, option and choice.",
            details: [
                "To have it in this shell: `source <(\(name) completion)`. A package installs it in "
                    + "/usr/share/bash-completion/completions, under the program's name."
            ],
            examples: ["\(name) completion"]
        ) { _ in
            Output.write(BashCompletion.text(for: program()))
            return .ok
        }
    }

    private static func manual(of name: String, _ program: @escaping @Sendable () -> CommandProgram) -> CommandSpec {
        CommandSpec(
            path: ["manual"], summary: "Write the manual's pages, one for each command, into a directory.",
            options: [
                .value("to", "DIR", "A directory that exists. Pages of the same names are replaced.", isRequired: true)
            ],
            examples: ["\(name) manual --to /usr/local/share/man/man1"]
        ) { arguments in
            let directory = try arguments.required("to")
            for page in ManualPage.all(of: program()) { try write(page, into: directory) }
            return .ok
        }
    }

    private static func write(_ page: ManualPage, into directory: String) throws(Failure) {
        let path = "\(directory)/\(page.fileName)"
        guard let file = fopen(path, "we") else { throw failure(path) }
        let octets = Array(page.text.utf8)
        let isWritten = fwrite(octets, 1, octets.count, file) == octets.count
        guard fclose(file) == 0, isWritten else { throw failure(path) }
    }

    private static func failure(_ path: String) -> Failure {
        Failure(
            .refused,
            "cannot write \(path): \(String(cString: strerror(errno))): name a directory that you can write to")
    }
}
