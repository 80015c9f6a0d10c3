import CommandInterface
import Glibc

/// Asks a person before something is lost.
enum Confirmation {
    private static let answerOctetsMaximum = 64

    /// Goes on if `--yes` is there, or if the person at the terminal types this word.
    ///
    /// - Throws: ``Failure`` for anything else, and then nothing was done.
    static func require(_ word: String, _ what: String, _ arguments: ParsedArguments) throws(Failure) {
        if arguments.has("yes") { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw Failure(.usage, "\(what) Nobody can be asked here: give `--yes` if that is meant")
        }
        Output.prompt("\(Output.sentence(what)) Type \"\(word)\" to go on: ")
        let octets = try? SmallFile.readLine(descriptor: STDIN_FILENO, maximumOctets: answerOctetsMaximum)
        guard octets == Array(word.utf8) else { throw Failure(.refused, "nothing was done") }
    }
}
