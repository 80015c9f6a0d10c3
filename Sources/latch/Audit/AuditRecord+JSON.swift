import DaemonControl
import LockPeripheral
import LockProtocol

extension AuditRecord {
    /// What happened, as the journal and every export say it.
    var json: JSONObject {
        var fields: JSONObject = ["record": JSONValue(sequence)]
        switch event {
        case .granted(let command):
            fields["what"] = "granted"
            command.add(to: &fields)
        case .refused(let command, let result):
            fields["what"] = "refused"
            command.add(to: &fields)
            fields["result"] = .string(result.name)
        case .refusalsSuppressed(let bond):
            fields["what"] = "refusals_suppressed"
            fields["bond"] = .string(String(bond, radix: 16))
        case .idleGrantsSuppressed(let bond):
            fields["what"] = "idle_grants_suppressed"
            fields["bond"] = .string(String(bond, radix: 16))
        case .securing(let recovering):
            fields["what"] = "securing"
            fields["recovering"] = .bool(recovering)
        case .outcome(let sequence, let outcome):
            fields["what"] = "outcome"
            fields["of"] = JSONValue(sequence)
            fields["outcome"] = .string("\(outcome)")
        case .bolt(let position):
            fields["what"] = "bolt"
            fields["position"] = .string("\(position)")
        case .door(let door):
            fields["what"] = "door"
            fields["door"] = .string(door.name)
        case .launched: fields["what"] = "launched"
        case .held(let hold):
            fields["what"] = "held_open"
            fields["by"] = .string(hold.map { "\($0)" } ?? "nothing")
        case .opening(let cause):
            fields["what"] = "opening"
            fields["for"] = .string("\(cause)")
        case .operated(let operation):
            fields["what"] = "operated"
            fields["operation"] = .string(operation.name)
        case .reset: fields["what"] = "reset"
        case .stopped: fields["what"] = "stopped"
        case .operatorIs(let user):
            fields["what"] = "operator"
            fields["user"] = JSONValue(user)
        case .clockStepped(let expected, let found):
            fields["what"] = "clock_stepped"
            fields["expected"] = .number(expected)
            fields["found"] = .number(found)
        case .securedUnrecorded: fields["what"] = "secured_unrecorded"
        case .relaunched(let times):
            fields["what"] = "relaunched"
            fields["times"] = JSONValue(times)
        case .stateConfirmed(let doubt):
            fields["what"] = "state_confirmed"
            fields["doubt"] = .string(doubt.name)
        case .bondDeleted(let bond):
            fields["what"] = "bond_deleted"
            fields["bond"] = .string(String(bond, radix: 16))
        case .bondExpired(let bond):
            fields["what"] = "bond_expired"
            fields["bond"] = .string(String(bond, radix: 16))
        case .administered(_, let name, let act):
            fields["what"] = "administered"
            fields["credential"] = .string(name)
            fields["act"] = .string("\(act)")
        case .managed(let manager, _, let name, let act):
            fields["what"] = "managed"
            fields["by"] = .string(manager.name)
            fields["credential"] = .string(name)
            fields["act"] = .string("\(act)")
        case .windowManaged(let manager, let name, let act):
            fields["what"] = "window_managed"
            fields["by"] = .string(manager.name)
            fields["credential"] = .string(name)
            fields["act"] = .string("\(act)")
        case .procedureRefused(let bond, _, let procedure):
            fields["what"] = "procedure_refused"
            fields["procedure"] = .string(procedure.name)
            fields["bond"] = .string(String(bond, radix: 16))
        case .spent(_, let name, let act):
            fields["what"] = "spent"
            fields["credential"] = .string(name)
            fields["act"] = .string("\(act)")
        case .lockedOut(let bond, _, let seconds):
            fields["what"] = "locked_out"
            fields["seconds"] = JSONValue(seconds)
            fields["bond"] = .string(String(bond, radix: 16))
        case .duress(_, let name):
            fields["what"] = "duress"
            fields["credential"] = .string(name)
        case .userSet(_, let name, let user, let kind):
            fields["what"] = "user_set"
            fields["credential"] = .string(name)
            fields["user"] = .string(user)
            fields["kind"] = .string(kind.name)
            fields["minutes"] = kind.minutes > 0 ? JSONValue(kind.minutes) : nil
        case .windowOpened(let name, let role):
            fields["what"] = "window_opened"
            fields["credential"] = .string(name)
            fields["role"] = .string("\(role)")
        case .windowClosed(let name, let end):
            fields["what"] = "window_closed"
            fields["credential"] = .string(name)
            fields["end"] = .string(end.name)
        case .enrolled(_, let name, let role, let bond):
            fields["what"] = "enrolled"
            fields["credential"] = .string(name)
            fields["role"] = .string("\(role)")
            fields["bond"] = .string(String(bond, radix: 16))
        case .auditDoubted(let doubt):
            fields["what"] = "audit_doubted"
            fields["doubt"] = .string(doubt.name)
        case .settingsChanged(let settings):
            fields["what"] = "settings_changed"
            settings.add(to: &fields)
        case .settingsManaged(let manager, let settings):
            fields["what"] = "settings_managed"
            fields["by"] = .string(manager.name)
            settings.add(to: &fields)
        case .modeChanged(let mode, let manager):
            fields["what"] = "mode_changed"
            fields["by"] = manager.map { .string($0.name) }
            fields["mode"] = .string("\(mode)")
        case .timeSet(let manager, let seconds):
            fields["what"] = "time_set"
            fields["by"] = .string(manager.name)
            fields["seconds"] = .number(seconds)
        }
        return fields
    }
}

extension AuditedCommand {
    fileprivate func add(to fields: inout JSONObject) {
        fields["operation"] = .string(command.operation.name)
        fields["command"] = .string("\(command.challenge)")
        fields["bond"] = .string(String(bond, radix: 16))
        fields["counter"] = signCounter.map { JSONValue($0) }
    }
}

extension ControlPointOpcode {
    var name: String {
        switch self {
        case .keyStatus: "key_status"
        case .listCredentials: "list_credentials"
        case .getCredential: "get_credential"
        case .disableCredential: "disable_credential"
        case .enableCredential: "enable_credential"
        case .removeCredential: "remove_credential"
        case .setSchedule: "set_schedule"
        case .getSettings: "get_settings"
        case .openEnrolment: "open_enrolment"
        case .closeEnrolment: "close_enrolment"
        case .getEnrolment: "get_enrolment"
        case .setSettings: "set_settings"
        case .setMode: "set_mode"
        case .getTime: "get_time"
        case .setTime: "set_time"
        case Self(.reportStoredRecords): "report_records"
        case Self(.abortOperation): "abort_report"
        case Self(.reportNumberOfStoredRecords): "count_records"
        default: "procedure_\(rawValue)"
        }
    }
}

extension UserKind {
    /// As operators write it.
    var name: String {
        switch self {
        case .ordinary: "ordinary"
        case .disposable: "disposable"
        case .expiring: "expiring"
        case .duress: "duress"
        }
    }
}

extension WindowEnd {
    var name: String {
        switch self {
        case .enrolled: "enrolled"
        case .expired: "expired"
        case .burnt: "burnt"
        case .tooManyFailures: "too_many_failures"
        case .cancelled: "cancelled"
        }
    }
}
