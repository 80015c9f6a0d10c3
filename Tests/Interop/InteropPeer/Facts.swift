import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials
import GATT
import SecurityManager

// Values of the API as JSON.

extension JSONValue {
    init(_ octets: some Sequence<UInt8>) { self = .string(HexText.encode(octets)) }
    init(optional octets: Data?) { self = octets.map { JSONValue($0) } ?? .null }
    init(_ peer: CBPeer) { self = .string(peer.identifier.uuidString) }
    init(_ uuid: CBUUID) { self = .string(uuid.uuidString) }
    init(_ handle: AttributeHandle) { self = .number(Int64(handle.rawValue)) }

    /// null for none.
    init(error: (any Error)?) { self = error.map { .object(JSONObject($0)) } ?? .null }
}

extension JSONObject {
    /// By domain and code where Apple has them, else by the name of the case.
    init(_ error: any Error) {
        switch error {
        case let error as CBATTError: self = ["att": JSONValue(error.errorCode)]
        case let error as CBError: self = ["cb": JSONValue(error.errorCode)]
        case HostError.pairing(.refusedByPeer(let reason)): self.init("refusedByPeer", reason)
        case HostError.pairing(.peerViolation(let reason)): self.init("peerViolation", reason)
        case HostError.pairing(.cancelled(let reason)): self.init("cancelled", reason)
        case HostError.pairing(let error): self = ["pairing": .string("\(error)")]
        default: self = ["host": .string("\(error)")]
        }
    }

    private init(_ name: String, _ reason: PairingFailedReason) {
        self = ["pairing": .string(name), "reason": JSONValue(reason.rawValue)]
    }

    init(_ link: LinkInfo) {
        self = [
            "peer": .string(UUID(link.peer).uuidString),
            "address": .string("\(link.address)"),
            "bond": link.bond.map { .string("\($0)") } ?? .null,
            "proven": .bool(link.isProven),
            "encrypted": .bool(link.security.encrypted),
            "authenticated": .bool(link.security.authenticated),
            "secureConnections": .bool(link.security.secureConnections),
            "keySize": JSONValue(link.security.keySize),
            "mtu": JSONValue(link.mtu),
        ]
    }

    init(_ bond: Bond) {
        self = [
            "bond": .string("\(bond.id)"),
            "identity": bond.identity.map { .string("\($0.address)") } ?? .null,
            "model": .string("\(bond.model)"),
            "state": .string("\(bond.state)"),
            "secureConnections": .bool(bond.secureConnections),
            "keySize": JSONValue(bond.keySize),
            "credential": bond.credential.map { .string($0) } ?? .null,
            "signs": .bool(bond.localCSRK != nil),
            "verifies": .bool(bond.remoteCSRK != nil),
        ]
    }
}
