import BluetoothHost
import DaemonControl
import Glibc

/// Writes answers and events, each once what it tells of is on disk.
final class Voice {
    private let host: Host

    init(host: Host) { self.host = host }

    func event(_ name: String, _ fields: JSONObject = [:]) {
        var line: JSONObject = ["event": .string(name)]
        for member in fields.members { line[member.name] = member.value }
        say(line)
    }

    func say(_ line: JSONObject) {
        let text = JSONValue.object(line).text + "\n"
        // A reader that is gone has closed the input too, which ends the process.
        host.afterCommit { try? Descriptor.write(text, to: STDOUT_FILENO) }
    }
}

/// The one answer to a command: now, or when what it asked for has ended.
struct Reply {
    let id: Int64
    let voice: Voice

    func done(_ result: JSONObject = [:]) { voice.say(["id": .number(id), "result": .object(result)]) }
    func failed(_ error: JSONObject) { voice.say(["id": .number(id), "failed": .object(error)]) }
    func refused(_ refusal: Refusal) { voice.say(["id": .number(id), "refused": .string(refusal.reason)]) }
}
