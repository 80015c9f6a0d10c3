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
        case .alarm(let report, let credential): record("alarm", report.json(credential: credential), level: .warning)
        case .enrolled(let credential, let bond):
            record("enrolled", ["credential": .string(credential), "bond": .string("\(bond)")])
        }
    }
}

extension LockStatus {
    var json: JSONObject {
        var fields: JSONObject = [
            "radio": .string(radio.name), "advertising": .bool(isAdvertising), "address": .string("\(address)"),
            "bolt": .string(bolt.name), "door": .string(door.name),
        ]
        fields["mode"] = .string("\(settings.settings.mode)")
        fields["held_open"] = hold.map { .string("\($0)") }
        fields["time"] = .object(time.json)
        fields["settings"] = .object(settings.json)
        fields["on_air"] = addressOnAir.map { .string("\($0)") }
        fields["audit"] = audit.map { ["first": JSONValue($0.lowerBound), "last": JSONValue($0.upperBound)] }
        fields["enrolling"] = enrolling.map { .string($0) }
        fields["alarms"] = .object(alarms.json(lastCredential: alarmedCredential))
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
