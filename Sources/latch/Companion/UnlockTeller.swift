import BluetoothCore
import CommandInterface
import DBusTransport
import DaemonControl
import Desktop

/// Tells a user on their desktop what came of an unlock that they asked for without a terminal.
final class UnlockTeller {
    private static let milliseconds: UInt32 = 10_000
    /// One command shows one notice: it replaces nobody's.
    private static let about = PeerIdentifier(bits: 0)

    private let isForPrograms: Bool
    /// As the key has said which is the nearest, or as the command has named it.
    private var lock: String?

    init(_ arguments: ParsedArguments) {
        isForPrograms = arguments.has("json")
        lock = arguments["lock"]
    }

    /// Whatever `command` ends with is told before it is shown. A notification that cannot be shown changes nothing of how it ends.
    static func telling(_ teller: UnlockTeller?, _ command: () throws -> ExitCode) throws -> ExitCode {
        do { return try command() } catch {
            teller?.tell((error as? Failure)?.message ?? String(describing: error))
            throw error
        }
    }

    func heard(_ event: String, _ fields: JSONObject) {
        if event == "nearest" { lock = fields["lock"]?.string ?? lock }
    }

    func answered(_ answer: JSONObject) {
        tell(
            answer["outcome"]?.string == "done"
                ? "Unlocked." : "The lock has taken the command. Its link went before the end was heard.")
    }

    private static func sentence(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }

    private func tell(_ text: String) {
        let notice = Notice(
            about: Self.about, title: lock ?? "Latch", text: Self.sentence(text), milliseconds: Self.milliseconds)
        guard let obstacle = NoticeSender.show(notice, on: .session()) else { return }
        // Standard output ends with the answer.
        if isForPrograms { Output.line(["event": "not_notified", "reason": .string(obstacle)]) }
        Output.prompt("latch: no notification was shown: \(Output.sentence(obstacle))\n")
    }
}
