import ATT
import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials
import GATT
import HCI
import SecurityManager

/// GATT procedures by handles, beside Apple's API: what that has no call for. Answered when they have ended.
final class ProcedureSide: Side {
    private let host: Host
    private var manager: ManagerID?
    private var running: [OperationToken: Reply] = [:]

    init(_ host: Host) { self.host = host }

    var commands: [String: Command] {
        [
            "procedure": { [unowned self] (arguments, reply) throws(Refusal) in
                let peer = try arguments.peer("peripheral")
                let token = host.perform(registered(), peer, try GATTClientOperation(arguments))
                running[token] = reply
            }
        ]
    }

    /// With a manager of its own: another manager's procedures are not told here.
    private func registered() -> ManagerID {
        if let manager { return manager }
        let (id, _) = host.registerCentral(restoreIdentifier: nil, delegate: self)
        manager = id
        return id
    }
}

extension ProcedureSide: CentralRoleDelegate {
    func completed(_ token: OperationToken, peer: PeerIdentifier, result: Result<OperationValue, HostError>) {
        guard let reply = running.removeValue(forKey: token) else { return }
        switch result {
        case .success(let value): reply.done(JSONObject(value))
        case .failure(.gatt(.refused(let code, let handle))):
            reply.failed(["att": JSONValue(code.rawValue), "handle": JSONValue(handle)])
        case .failure(let error): reply.failed(JSONObject(error))
        }
    }

    func hostStateChanged(_ state: HostState) {}
    func discovered(_ report: AdvertisementReport) {}
    func connected(_ link: LinkInfo) {}
    func connectionFailed(_ peer: PeerIdentifier, error: HostError) {}
    func mtuChanged(_ link: LinkInfo) {}
    func disconnected(_ peer: PeerIdentifier, error: HostError?, isReconnecting: Bool) {}
    func valueUpdated(_ peer: PeerIdentifier, handle: AttributeHandle, value: [UInt8], isIndication: Bool) {}
    func servicesInvalidated(_ peer: PeerIdentifier, first: AttributeHandle, last: AttributeHandle) {}
    func securityChanged(_ link: LinkInfo, error: HostError?) {}
    func passkeyRequested(_ peer: PeerIdentifier) {}
    func displayPasskey(_ peer: PeerIdentifier, passkey: UInt32) {}
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) {}
    func paired(_ peer: PeerIdentifier, result: Result<BondID, HostError>) {}
}

extension GATTClientOperation {
    fileprivate init(_ arguments: Arguments) throws(Refusal) {
        switch try arguments.text("procedure") {
        case "discoverDatabase": self = .discoverDatabase
        case "discoverServices": self = .discoverPrimaryServices
        case "discoverServicesByUUID": self = .discoverPrimaryServicesByUUID(try arguments.uuid("uuid"))
        case "discoverIncludedServices":
            self = .findIncludedServices(try arguments.range)
        case "discoverCharacteristics":
            self = .discoverCharacteristics(try arguments.range)
        case "discoverDescriptors":
            self = .discoverDescriptors(try arguments.range)
        case "read": self = .read(try arguments.handle("handle"))
        case "readByUUID": self = .readByUUID(try arguments.uuid("uuid"))
        case "readMultiple": self = .readMultiple(try arguments.handles("handles"))
        case "readMultipleVariable": self = .readMultipleVariable(try arguments.handles("handles"))
        case "write": self = .write(try arguments.handle("handle"), try arguments.octets("value"))
        case "reliableWrites":
            var writes: [AttributeWrite] = []
            for write in try arguments.objects("writes") {
                writes.append(
                    AttributeWrite(
                        handle: try write.handle("handle"), offset: Int(try write.optionalNumber("offset") ?? 0),
                        value: try write.octets("value")))
            }
            self = .reliableWrites(writes)
        case let other: throw Refusal("no procedure is called \(other)")
        }
    }
}

extension Arguments {
    fileprivate var range: ATTHandleRange {
        get throws(Refusal) { ATTHandleRange(start: try handle("first"), end: try handle("last")) }
    }
}

extension JSONObject {
    fileprivate init(_ value: OperationValue) {
        switch value {
        case .gatt(let result): self.init(result)
        case .signed(let counter): self = ["counter": JSONValue(counter)]
        case .rssi(let rssi): self = ["rssi": JSONValue(rssi)]
        case .channelMap(let map): self = ["channels": JSONValue(map.count)]
        }
    }

    private init(_ result: GATTClientResult) {
        switch result {
        case .database(let database):
            self = ["hash": database.hash.map { JSONValue($0) } ?? .null, "services": Self.list(database.services)]
        case .services(let services): self = ["services": Self.list(services)]
        case .includedServices(let services):
            self = ["services": .array(services.map { .object(Self(included: $0)) })]
        case .characteristics(let all): self = ["characteristics": .array(all.map { .object(Self($0)) })]
        case .descriptors(let all): self = ["descriptors": .array(all.map { .object(Self($0)) })]
        case .value(let octets): self = ["value": JSONValue(octets)]
        case .values(let values):
            self = ["values": .array(values.map { ["handle": JSONValue($0.handle), "value": JSONValue($0.value)] })]
        case .done, .mtu: self = [:]
        }
    }

    private static func list(_ services: [RemoteService]) -> JSONValue {
        .array(
            services.map { service in
                [
                    "uuid": .string("\(service.uuid)"), "primary": .bool(service.isPrimary),
                    "first": JSONValue(service.declaration), "last": JSONValue(service.end),
                    "includedServices": .array(service.includedServices.map { .object(Self(included: $0)) }),
                    "characteristics": .array(service.characteristics.map { .object(Self($0)) }),
                ]
            })
    }

    private init(included service: RemoteIncludedService) {
        self = [
            "handle": JSONValue(service.handle), "uuid": .string("\(service.uuid)"),
            "first": JSONValue(service.declaration), "last": JSONValue(service.end),
        ]
    }

    private init(_ characteristic: RemoteCharacteristic) {
        self = [
            "uuid": .string("\(characteristic.uuid)"), "properties": JSONValue(characteristic.properties.rawValue),
            "declaration": JSONValue(characteristic.declaration), "value": JSONValue(characteristic.value),
            "last": JSONValue(characteristic.end),
            "descriptors": .array(characteristic.descriptors.map { .object(Self($0)) }),
        ]
    }

    private init(_ descriptor: RemoteDescriptor) {
        self = ["uuid": .string("\(descriptor.uuid)"), "handle": JSONValue(descriptor.handle)]
    }
}
