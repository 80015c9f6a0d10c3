import BluetoothCore
import DaemonControl
import LockCentral
import LockProtocol

extension WatchedLock {
    /// What is not known is absent.
    func json(now: Instant) -> JSONObject {
        var fields: JSONObject = [
            "id": .string("\(record.peer)"), "name": .string(record.name), "link": .string(link.name),
        ]
        fields["signal_dbm"] = dBm.map { JSONValue($0) }
        if let state {
            fields["bolt"] = .string(state.bolt.name)
            fields["door"] = .string(state.door.name)
            fields["state_age_ms"] = JSONValue(now.milliseconds(since: state.at))
        }
        if let answer {
            fields["operation"] = .string(answer.operation.name)
            fields["result"] = .string(answer.result.name)
            fields["receipt_age_ms"] = JSONValue(now.milliseconds(since: answer.at))
        }
        fields["asked"] = asked.map { .string($0.name) }
        fields["note"] = note.map { .string($0.text) }
        fields["preference"] = preference.map { JSONValue($0) }
        return fields
    }
}

extension WatchedLock.Link {
    fileprivate var name: String {
        switch self {
        case .none: "none"
        case .wanted: "wanted"
        case .unproven: "unproven"
        case .proven: "proven"
        case .ending: "ending"
        }
    }
}
