import CommandInterface
import DaemonControl
import LockCentral

/// `latch central note` and `prefer`: what a key's user says of its locks.
enum PreferenceCommands {
    static let all = [note, prefer]

    private static let note = CommandSpec(
        path: ["central", "note"], summary: "Show a lock's note, or write it down.",
        details: [
            "A note is one line for people, as \"left door, turn twice\": at most \(LockNote.octetsMaximum) octets, without control characters. "
                + "`latch central status` and `latch central watch` show it. It decides nothing, and the lock hears nothing of it.",
            "It stands in clear in the key's database, and in its backups: no secret belongs there.",
        ],
        options: ControlPlace.options + [.flag("clear", "Take the note away."), Commands.json],
        operands: .words(["LOCK", "[TEXT]"]),
        examples: [
            "latch central note \"Front door\" \"left door, turn twice\"", "latch central note \"Front door\"",
            "latch central note \"Front door\" --clear",
        ]
    ) { arguments in
        let (lock, text) = (arguments.operands[0], arguments.operands.dropFirst().first)
        let request = CentralRequest.note(lock: lock, try change(text, isCleared: arguments.has("clear")))
        return try ControlCommand.run(request, role: .central, arguments: arguments) { result in
            let note = result["note"]?.string.map(Output.shown) ?? "no note"
            Output.line(Output.shown(result["lock"]?.string ?? "") + ": " + note + already(result))
        }
    }

    /// - Throws: ``Failure`` for a text that is no note, or one beside `--clear`.
    private static func change(_ text: String?, isCleared: Bool) throws(Failure) -> CentralRequest.NoteChange {
        guard let text else { return isCleared ? .clear : .show }
        guard !isCleared else {
            throw Failure(.usage, "a text and `--clear` do not go together: keep one of them")
        }
        do throws(LockNote.Fault) { return .set(try LockNote(text).text) } catch {
            throw Failure(.usage, "\(error)" + (error == .empty ? ": `--clear` takes a note away" : ""))
        }
    }

    private static let prefer = CommandSpec(
        path: ["central", "prefer"], summary: "Have a lock come first where the signals do not tell which is nearest.",
        details: [
            "`latch central unlock --nearest` opens nothing where several locks are about equally near. A preferred one is opened then. A "
                + "lock that is clearly nearer goes before each preferred one.",
            "Several may be preferred: the one that was preferred last comes first. `latch central status` and `latch central watch` have "
                + "them before the others, in their order.",
        ],
        options: ControlPlace.options + [.flag("clear", "Prefer it no more."), Commands.json],
        operands: .words(["LOCK"]),
        examples: ["latch central prefer \"Front door\"", "latch central prefer \"Front door\" --clear"]
    ) { arguments in
        let request = CentralRequest.prefer(lock: arguments.operands[0], !arguments.has("clear"))
        return try ControlCommand.run(request, role: .central, arguments: arguments) { result in
            let what = result["preference"] == nil ? "not preferred" : "comes first"
            Output.line(Output.shown(result["lock"]?.string ?? "") + ": " + what + already(result))
        }
    }

    private static func already(_ result: JSONObject) -> String { result["changed"] == .bool(false) ? " already" : "" }
}
