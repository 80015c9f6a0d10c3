import CommandInterface
import DaemonControl

/// What `latch central unlock` has for a shortcut of the keyboard: no lock is named, and no terminal is there.
enum UnlockOptions {
    static func all(for operation: CentralRequest.Command.Operation) -> [OptionSpec] {
        operation.takesNearest
            ? [
                .flag(
                    "nearest",
                    "The lock with the strongest signal. The key connects with all of its locks to find out; of several that are about equally strong it opens the preferred one (`latch central prefer`), and none where none is preferred."
                ),
                .flag("notify", "Show a notification on the desktop that says what came of it."),
            ] : []
    }

    static let examples = ["latch central unlock --nearest --notify       # for a shortcut of the keyboard"]

    /// - Throws: ``Failure`` beside a lock that is named.
    static func isForNearest(_ arguments: ParsedArguments) throws(Failure) -> Bool {
        guard arguments.has("nearest") else { return false }
        guard arguments["lock"] == nil else {
            throw Failure(.usage, "--nearest and --lock do not go together: a lock that is named is not looked for")
        }
        return true
    }
}
