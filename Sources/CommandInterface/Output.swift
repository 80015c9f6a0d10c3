import DaemonControl
import Glibc

/// Standard output for what was asked, standard error for why it failed.
package enum Output {
    package static func write(_ text: String) { write(text, to: STDOUT_FILENO) }

    package static func line(_ text: String) { write(text + "\n") }

    package static func line(_ value: JSONValue) { line(value.text) }

    /// For a person at a terminal; not part of what a program reads.
    package static func prompt(_ text: String) { write(text, to: STDERR_FILENO) }

    /// One line for people, and with `--json` one for programs too.
    package static func failure(_ failure: Failure, of program: String, json: Bool) {
        write("\(program): \(sentence(failure.message))\n", to: STDERR_FILENO)
        guard json else { return }
        line(["error": ["code": .string(failure.code.name), "message": .string(failure.message)]])
    }

    /// What a daemon said of itself, a line for each fact.
    package static func fields(_ object: JSONObject, indent: String = "") {
        for member in object.members {
            switch member.value {
            case .object(let inner):
                line("\(indent)\(member.name):")
                fields(inner, indent: indent + "  ")
            case .array(let values) where values.contains { $0.object != nil }:
                for value in values {
                    line("\(indent)\(member.name):")
                    if let inner = value.object { fields(inner, indent: indent + "  ") }
                }
            case .string(let text): line("\(indent)\(member.name): \(shown(text))")
            default: line("\(indent)\(member.name): \(member.value.text)")
            }
        }
    }

    /// What a peer or an operator has named stays on its line and moves no cursor: in quotes where it would not.
    package static func shown(_ text: String) -> String {
        let quoted = JSONValue.string(text).text
        return quoted == "\"\(text)\"" ? text : quoted
    }

    /// A sentence of ours with what others have named in it: as JSON writes it where it holds what a terminal obeys.
    package static func sentence(_ text: String) -> String {
        text.unicodeScalars.contains(where: JSONValue.isObeyed) ? JSONValue.string(text).text : text
    }

    /// ` name=value` of each member, for people.
    package static func pairs(_ members: [JSONObject.Member]) -> String {
        members.map { " \($0.name)=\($0.value.string.map(shown) ?? $0.value.text)" }.joined()
    }

    private static func write(_ text: String, to descriptor: Int32) {
        // A failure to write has no other place where it could be told.
        _ = WholeWrite.write(Array(text.utf8), to: descriptor)
    }
}
