import DaemonControl
import LockProtocol

extension LockSettings {
    /// As the configuration's keys call them; the mode is told apart.
    func add(to fields: inout JSONObject) {
        fields["relock_seconds"] = JSONValue(relockSeconds ?? 0)
        fields["lock_and_go_seconds"] = JSONValue(lockAndGoSeconds)
        fields["challenge_life_ms"] = JSONValue(challengeLifeMilliseconds)
        fields["signed"] = .bool(acceptsSigned)
        fields["time_zone"] = .string(calendar.timeZone.text)
        fields["holidays"] = .array(calendar.holidays.map { .string($0.description) })
    }
}

extension LockSettings.Fields {
    /// The configuration's keys.
    var names: [String] {
        let names: KeyValuePairs<Self, String> = [
            .relock: "relock_seconds", .lockAndGo: "lock_and_go_seconds", .challengeLife: "challenge_life_ms",
            .acceptsSigned: "signed", .timeZone: "time_zone", .holidays: "holidays",
        ]
        return names.filter { contains($0.key) }.map(\.value)
    }
}

extension SettingsRecord {
    var json: JSONObject {
        var fields = JSONObject()
        settings.add(to: &fields)
        fields["fixed"] = .array(fixed.names.map { .string($0) })
        return fields
    }
}

extension LockTime {
    var json: JSONObject {
        var fields: JSONObject = ["source": .string(source.name)]
        fields["seconds"] = seconds.map { .number($0) }
        return fields
    }
}

extension LockTime.Source {
    fileprivate var name: String {
        switch self {
        case .machine: "machine"
        case .manager: "manager"
        default: "none"
        }
    }
}
