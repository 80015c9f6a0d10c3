import BluetoothHost
import DaemonControl
import GATT
import LockPeripheral
import LockProtocol
import SecurityManager

extension EventJournal {
    func record(_ event: LockEvent) {
        switch event {
        case .restored(let services, let isAdvertising):
            record("restored", ["services": JSONValue(services), "advertising": .bool(isAdvertising)])
        case .radio(let state): record("radio", ["state": .string(state.name)])
        case .advertising: record("advertising")
        case .advertisingFailed(let reason): record("advertising_failed", ["reason": .string(reason)], level: .error)
        case .connected(let link, let peer, let bond):
            var fields: JSONObject = ["link": JSONValue(link.rawValue), "peer": .string("\(peer)")]
            fields["bond"] = bond.map { .string("\($0)") }
            record("connected", fields)
        case .disconnected(let link, let peer):
            record("disconnected", ["link": JSONValue(link.rawValue), "peer": .string("\(peer)")])
        case .proven(let link, let peer, let bond):
            record(
                "proven",
                ["link": JSONValue(link.rawValue), "peer": .string("\(peer)"), "bond": .string("\(bond)")])
        case .bolt(let bolt, let door): record("bolt", ["bolt": .string(bolt.name), "door": .string(door.name)])
        case .audit(let audit): record("audit", audit.json)
        case .actuator(let order):
            var fields: JSONObject = [
                "intent": JSONValue(order.intent.rawValue), "movement": .string("\(order.movement)"),
            ]
            fields["command"] = order.command.map { .string("\($0)") }
            record("actuator", fields)
        case .securedUnrecorded: record("secured_unrecorded", level: .warning)
        case .enrolled(let credential, let bond):
            record("enrolled", ["credential": .string(credential), "bond": .string("\(bond)")])
        }
    }
}

extension AuditRecord {
    fileprivate var json: JSONObject {
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

extension LockStatus {
    var json: JSONObject {
        var fields: JSONObject = [
            "radio": .string(radio.name), "advertising": .bool(isAdvertising), "address": .string("\(address)"),
            "bolt": .string(bolt.name), "door": .string(door.name),
        ]
        fields["on_air"] = addressOnAir.map { .string("\($0)") }
        fields["audit"] = audit.map { ["first": JSONValue($0.lowerBound), "last": JSONValue($0.upperBound)] }
        fields["enrolling"] = enrolling.map { .string($0) }
        fields["links"] = .array(links.map { .object($0.json) })
        fields["credentials"] = .array(
            credentials.map { credential in
                var object: JSONObject = [
                    "name": .string(credential.name), "role": .string("\(credential.role)"),
                    "enabled": .bool(credential.isEnabled),
                ]
                // Only where it is so, for the length of a page.
                object["scheduled"] = credential.isScheduled ? true : nil
                object["bond"] = credential.bond.map { .string("\($0)") }
                object["bond_state"] = credential.bondState.map { .string("\($0)") }
                return .object(object)
            })
        fields["unconfirmed"] = .array(
            unconfirmed.map { waiting in
                var object: JSONObject = ["bond": .string("\(waiting.bond)")]
                object["credential"] = waiting.credential.map { .string($0) }
                return .object(object)
            })
        fields["next"] = next.map { .string("\($0)") }
        return fields
    }
}
