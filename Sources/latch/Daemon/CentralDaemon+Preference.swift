import DaemonControl
import LockCentral

/// Notes of locks, and which of them come first.
extension CentralDaemon {
    func note(_ change: CentralRequest.NoteChange, of lock: String) throws(ControlFailure) -> JSONObject {
        try Self.telling { () throws(KeyLockRefusal) in
            let isChanged: Bool? =
                switch change {
                case .show: nil
                case .set(let text): try key.setNote(text, of: lock)
                case .clear: try key.setNote(nil, of: lock)
                }
            let choices = try key.choices(of: lock)
            var answer: JSONObject = ["lock": .string(choices.name)]
            answer["note"] = choices.note.map { .string($0.text) }
            answer["changed"] = isChanged.map { .bool($0) }
            return answer
        }
    }

    func prefer(_ lock: String, _ isPreferred: Bool) throws(ControlFailure) -> JSONObject {
        try Self.telling { () throws(KeyLockRefusal) in
            let isChanged = try key.prefer(lock, isPreferred)
            let choices = try key.choices(of: lock)
            var answer: JSONObject = ["lock": .string(choices.name)]
            answer["preference"] = choices.preference.map { JSONValue($0) }
            answer["changed"] = .bool(isChanged)
            return answer
        }
    }
}
