import BluetoothHost
import DaemonControl
import GATT
import HCI

extension LinkInfo {
    /// Who is at the other end, how far they are trusted, and what is known of the link itself.
    var json: JSONObject {
        var fields: JSONObject = [
            "peer": .string("\(peer)"), "encrypted": .bool(security.encrypted), "proven": .bool(isProven),
            "mtu": JSONValue(mtu),
        ]
        fields["bond"] = bond.map { .string("\($0)") }
        for member in facts.json.members { fields[member.name] = member.value }
        return fields
    }
}

extension LinkFacts {
    /// Times in microseconds and milliseconds, PHYs by their names; what is not known yet is absent.
    var json: JSONObject {
        var fields: JSONObject = [
            "interval_us": JSONValue(Int(parameters.connectionInterval) * 1_250),
            "latency": JSONValue(parameters.peripheralLatency),
            "timeout_ms": JSONValue(Int(parameters.supervisionTimeout) * 10),
            "tx_phy": .string(txPHY.name), "rx_phy": .string(rxPHY.name),
            "tx_octets": JSONValue(txDataLength.octets), "rx_octets": JSONValue(rxDataLength.octets),
        ]
        if let version {
            fields["peer_core"] = .string(version.core.name)
            fields["peer_company"] = JSONValue(version.companyIdentifier)
            fields["peer_subversion"] = JSONValue(version.subversion)
        }
        return fields
    }
}

extension LEPHY {
    fileprivate var name: String {
        switch self {
        case .le1M: "LE 1M"
        case .le2M: "LE 2M"
        case .leCoded: "LE Coded"
        default: "PHY \(rawValue)"
        }
    }
}

extension CoreVersion {
    /// Assigned Numbers, 2.1 (Core Specification versions)
    fileprivate var name: String {
        switch self {
        case .v4_0: "4.0"
        case .v4_1: "4.1"
        case .v4_2: "4.2"
        case .v5_0: "5.0"
        case .v5_1: "5.1"
        case .v5_2: "5.2"
        case .v5_3: "5.3"
        case .v5_4: "5.4"
        default: "version \(rawValue)"
        }
    }
}
