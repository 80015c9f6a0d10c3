import BluetoothHost
import DaemonControl
import HCI

extension EventJournal {
    /// A link's way, for an operator who looks for a fault: in the log alone, and only where it shows such lines. What the controller
    /// does wrong is a state transition like others, told at 1, 2, 4, 8 … faults: a broken controller must not fill a disk. So is what
    /// becomes of the things of managers.
    func record(_ notice: HostNotice) {
        if case .controllerFault(let total) = notice {
            guard total.nonzeroBitCount == 1 else { return }
            return record("controller_fault", ["total": JSONValue(total)], level: .warning)
        }
        switch notice {
        case .advertisingRefused: record("advertising_refused", notice.fields, level: .warning)
        case .managerAtRest: record("manager_at_rest", notice.fields, level: .warning)
        case .managerForgotten: record("manager_forgotten", notice.fields, level: .warning)
        case .managerNotKept: record("manager_not_kept", notice.fields, level: .error)
        default: trace("link", notice.fields)
        }
    }
}

extension HostNotice {
    var fields: JSONObject {
        switch self {
        case .connected(let link, let isCentral, let onAir, let bond):
            var fields = Self.fields("connected", link)
            fields["role"] = .string(isCentral ? "central" : "peripheral")
            fields["on_air"] = .string("\(onAir)")
            fields["bond"] = bond.map { .string("\($0)") }
            return fields
        case .rejected(let onAir):
            var fields: JSONObject = ["what": "no_slot"]
            fields["on_air"] = onAir.map { .string("\($0)") }
            return fields
        case .disconnected(let link, let reason): return Self.fields("disconnected", link, reason)
        case .encrypting(let link, let bond):
            var fields = Self.fields("encrypting", link)
            fields["bond"] = .string("\(bond)")
            return fields
        case .keyRequested(let link, let isKnown): return Self.fields(isKnown ? "key_given" : "key_unknown", link)
        case .encryption(let link, let status, let isPairing):
            guard status == .success else { return Self.fields("not_encrypted", link, status) }
            return Self.fields(isPairing ? "encrypted_to_pair" : "encrypted", link)
        case .pairingBegan(let link): return Self.fields("pairing", link)
        case .paired(let link, let bond):
            var fields = Self.fields("paired", link)
            fields["bond"] = .string("\(bond)")
            return fields
        case .pairingFailed(let link, let error):
            var fields = Self.fields("not_paired", link)
            fields["reason"] = .string("\(error)")
            return fields
        case .mtu(let link, let octets):
            var fields = Self.fields("mtu", link)
            fields["octets"] = JSONValue(octets)
            return fields
        case .unproven(let peer, let onAir):
            return ["what": "unproven", "address": .string("\(peer)"), "on_air": .string("\(onAir)")]
        case .advertisingRefused(let status): return ["reason": .string("\(status)")]
        case .managerAtRest(let key), .managerForgotten(let key), .managerNotKept(let key):
            return ["role": .string(key.role.rawValue), "restore_id": .string(key.identifier)]
        case .controllerFault(let total): return ["what": "controller_fault", "total": JSONValue(total)]
        }
    }

    private static func fields(_ what: String, _ link: LinkID, _ reason: HCIErrorCode? = nil) -> JSONObject {
        var fields: JSONObject = ["what": .string(what), "link": JSONValue(link.rawValue)]
        fields["reason"] = reason.map { .string("\($0)") }
        return fields
    }
}
