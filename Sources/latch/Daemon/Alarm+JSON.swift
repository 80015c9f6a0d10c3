import DaemonControl
import LockPeripheral
import LockProtocol

extension AlarmReport {
    /// For the log, the journal, a hook and `status`. `credential`: whom it is about, by name.
    func json(credential: String?) -> JSONObject {
        var fields: JSONObject = ["alarm": .string(alarm.kind.name)]
        fields["cause"] = alarm.causeName.map { .string($0) }
        fields["record"] = record.map { JSONValue($0) }
        fields["credential"] = credential.map { .string($0) }
        fields["more"] = hasMore ? true : nil
        fields["late"] = isLate ? true : nil
        return fields
    }
}

extension AlarmBook {
    /// How many there were of each kind, and the last one that was told.
    func json(lastCredential: String?) -> JSONObject {
        var fields: JSONObject = ["count": JSONValue(count)]
        for kind in AlarmKind.known { fields[kind.name] = counts[kind].map { JSONValue($0) } }
        fields["last"] = last.map { .object($0.json(credential: lastCredential)) }
        return fields
    }
}

extension AlarmKind {
    var name: String {
        switch self {
        case .forced: "forced"
        case .jam: "jam"
        case .tamper: "tamper"
        case .rollback: "rollback"
        case .clock: "clock"
        case .refusals: "refusals"
        case .duress: "duress"
        case .lockout: "lockout"
        case .ajar: "ajar"
        default: "alarm \(rawValue)"
        }
    }
}

extension Alarm {
    /// nil where the kind says all.
    fileprivate var causeName: String? {
        switch self {
        case .forced(let part): "\(part)"
        case .jam(let position): position.code.name
        case .tamper(.state(let doubt)): doubt.name
        case .tamper(.row): "row"
        case .tamper(.audit): "audit"
        case .tamper(.door): "door"
        case .clock(let fault): "\(fault)"
        case .rollback, .refusals, .duress, .lockout, .ajar: nil
        }
    }
}
