import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials
import GATT
import HCI
import SecurityManager

/// GAP's modes and procedures, and what advertising data can carry: what Apple's API has no call for.
final class ModeSide: Side {
    private let host: Host
    private let voice: Voice
    private var advertiser: ManagerID?
    private var scanner: ManagerID?
    private var starting: [Reply] = []

    init(_ host: Host, _ voice: Voice) {
        self.host = host
        self.voice = voice
    }

    var commands: [String: Command] {
        [
            // Answered when it is on the air.
            "advertiseAs": { [unowned self] (arguments, reply) throws(Refusal) in
                let record = try AdvertisingRecord(arguments)
                starting.append(reply)
                host.startAdvertising(advertisingManager(), record)
            },
            "endAdvertising": { [unowned self] (_, reply) throws(Refusal) in
                host.stopAdvertising(advertisingManager())
                reply.done()
            },
            // Whoever is listed is an event, each time.
            "discover": { [unowned self] (arguments, reply) throws(Refusal) in
                let scan = ScanRecord(
                    services: [], allowDuplicates: true,
                    procedure: try arguments.named("procedure", DiscoveryProcedure.allCases),
                    isPassive: try arguments.flag("passive"))
                host.startScan(scanningManager(), scan)
                reply.done()
            },
            "endDiscovery": { [unowned self] (_, reply) throws(Refusal) in
                host.stopScan(scanningManager())
                reply.done()
            },
        ]
    }

    private func advertisingManager() -> ManagerID {
        if let advertiser { return advertiser }
        let (id, _) = host.registerPeripheral(restoreIdentifier: nil, delegate: self)
        advertiser = id
        return id
    }

    private func scanningManager() -> ManagerID {
        if let scanner { return scanner }
        let (id, _) = host.registerCentral(restoreIdentifier: nil, delegate: self)
        scanner = id
        return id
    }
}

extension ModeSide: PeripheralRoleDelegate {
    func advertisingStarted(error: HostError?) {
        guard !starting.isEmpty else { return }
        let reply = starting.removeFirst()
        if let error { reply.failed(JSONObject(error)) } else { reply.done() }
    }

    func centralConnected(_ link: LinkInfo) {}
    func centralDisconnected(_ link: LinkInfo, reason: HCIErrorCode) {}
    func readRequested(_ request: ServerReadRequest) {}
    func writesRequested(_ request: ServerWriteRequest) {}
    func subscriptionChanged(_ link: LinkInfo, handle: AttributeHandle, notify: Bool, indicate: Bool) {}
    func readyToUpdate() {}
    func displayPasskey(_ link: LinkInfo, passkey: UInt32) {}
    func passkeyRequested(_ link: LinkInfo) {}
    func paired(_ link: LinkInfo, result: Result<BondID, HostError>) {}
}

extension ModeSide: CentralRoleDelegate {
    func discovered(_ report: AdvertisementReport) {
        let data = report.data
        voice.event(
            "listed",
            [
                "peripheral": .string(UUID(report.peer).uuidString), "address": .string("\(report.address)"),
                "mode": .string("\(report.mode)"), "connectable": .bool(report.isConnectable),
                "localName": data.localName.map { .string($0) } ?? .null, "services": Self.uuids(data.services),
                "solicited": Self.uuids(data.solicitedServices),
                "serviceData": .array(
                    data.serviceData.map {
                        ["service": .string("\($0.service)"), "data": JSONValue($0.octets)]
                    }),
                "manufacturer": data.manufacturerData.map { JSONValue($0) } ?? .null,
                "txPower": data.txPowerLevel.map { JSONValue($0) } ?? .null,
                "appearance": data.appearance.map { JSONValue($0) } ?? .null,
            ])
    }

    private static func uuids(_ uuids: [BluetoothUUID]) -> JSONValue { .array(uuids.map { .string("\($0)") }) }

    func hostStateChanged(_ state: HostState) {}
    func connected(_ link: LinkInfo) {}
    func connectionFailed(_ peer: PeerIdentifier, error: HostError) {}
    func mtuChanged(_ link: LinkInfo) {}
    func disconnected(_ peer: PeerIdentifier, error: HostError?, isReconnecting: Bool) {}
    func completed(_ token: OperationToken, peer: PeerIdentifier, result: Result<OperationValue, HostError>) {}
    func valueUpdated(_ peer: PeerIdentifier, handle: AttributeHandle, value: [UInt8], isIndication: Bool) {}
    func servicesInvalidated(_ peer: PeerIdentifier, first: AttributeHandle, last: AttributeHandle) {}
    func securityChanged(_ link: LinkInfo, error: HostError?) {}
    func passkeyRequested(_ peer: PeerIdentifier) {}
    func displayPasskey(_ peer: PeerIdentifier, passkey: UInt32) {}
    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) {}
    func paired(_ peer: PeerIdentifier, result: Result<BondID, HostError>) {}
}

extension AdvertisingRecord {
    fileprivate init(_ arguments: Arguments) throws(Refusal) {
        self.init(
            localName: try arguments.optionalText("name"),
            services: try arguments.optionalUUIDs("services")?.map(\.bluetoothUUID) ?? [])
        discoverability = try arguments.named("mode", DiscoverableMode.allCases)
        connectability = try arguments.named("connectability", ConnectableMode.allCases)
        txPowerLevel = try arguments.optionalNumber("txPower").map { Int8(truncatingIfNeeded: $0) }
        includesAppearance = try arguments.flag("appearance")
        manufacturerData = try arguments.optionalOctets("manufacturer")
        solicitedServices = try arguments.optionalUUIDs("solicited")?.map(\.bluetoothUUID) ?? []
        for data in try arguments.objects("serviceData") {
            serviceData.append(
                AdvertisedServiceData(service: try data.uuid("service"), octets: try data.octets("data")))
        }
    }
}

extension Arguments {
    /// One of `cases`, by its name.
    fileprivate func named<Case>(_ name: String, _ cases: [Case]) throws(Refusal) -> Case {
        let text = try text(name)
        guard let found = cases.first(where: { "\($0)" == text }) else { throw Refusal("`\(name)` is one of \(cases)") }
        return found
    }
}
