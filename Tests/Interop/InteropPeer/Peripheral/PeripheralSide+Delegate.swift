import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials
import HCI
import SecurityManager

extension PeripheralSide: CBPeripheralManagerLinkDelegate {
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        voice.event("peripheralState", ["state": .string("\(peripheral.state)")])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, willRestoreState dict: [String: Any]) {
        let services = dict[CBPeripheralManagerRestoredStateServicesKey] as? [CBMutableService] ?? []
        services.forEach { tree.adopt($0) }
        voice.event(
            "peripheralRestored",
            [
                "services": .array(services.map { JSONValue($0.uuid) }),
                "advertising": .bool(dict[CBPeripheralManagerRestoredStateAdvertisementDataKey] != nil),
            ])
    }

    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        voice.event("advertising", ["error": JSONValue(error: error)])
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        var handles: JSONObject = [:]
        for characteristic in service.characteristics ?? [] {
            handles[tree.name(characteristic)] = characteristic.valueHandle.map { JSONValue($0) }
        }
        voice.event(
            "added",
            ["service": JSONValue(service.uuid), "handles": .object(handles), "error": JSONValue(error: error)])
    }

    // MARK: Channels

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) { voice.event("channelPublished", ["psm": JSONValue(PSM), "error": JSONValue(error: error)]) }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: (any Error)?
    ) { voice.event("channelUnpublished", ["psm": JSONValue(PSM), "error": JSONValue(error: error)]) }

    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        channels.opened(channel, error)
    }

    // MARK: Subscriptions

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didSubscribeTo characteristic: CBCharacteristic
    ) { tellSubscription("subscribed", central, characteristic) }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didUnsubscribeFrom characteristic: CBCharacteristic
    ) { tellSubscription("unsubscribed", central, characteristic) }

    private func tellSubscription(_ event: String, _ central: CBCentral, _ characteristic: CBCharacteristic) {
        voice.event(event, ["central": meet(central), "characteristic": .string(tree.name(characteristic))])
    }

    func peripheralManagerIsReady(toUpdateSubscribers peripheral: CBPeripheralManager) {
        voice.event("readyToUpdate")
    }

    // MARK: Requests

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveRead request: CBATTRequest) {
        var told: JSONObject = [
            "central": meet(request.central), "characteristic": .string(tree.name(request.characteristic)),
            "offset": JSONValue(request.offset),
        ]
        guard let local = tree[request.characteristic], local.answers == .store else {
            told["request"] = .number(wait([request]))
            return voice.event("readRequest", told)
        }
        voice.event("readRequest", told)
        if let value = local.read(from: request.offset) {
            request.value = Data(value)
            peripheral.respond(to: request, withResult: .success)
        } else {
            peripheral.respond(to: request, withResult: .invalidOffset)
        }
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didReceiveWrite requests: [CBATTRequest]) {
        guard let first = requests.first else { return }
        let writes: [JSONValue] = requests.map { request in
            [
                "characteristic": .string(tree.name(request.characteristic)), "offset": JSONValue(request.offset),
                "value": JSONValue(optional: request.value),
            ]
        }
        var told: JSONObject = [
            "central": meet(first.central), "path": first.writePath.map { .string("\($0)") } ?? .null,
            "writes": .array(writes),
        ]
        guard requests.allSatisfy({ tree[$0.characteristic]?.answers == .store }) else {
            told["request"] = .number(wait(requests))
            return voice.event("writeRequest", told)
        }
        voice.event("writeRequest", told)
        peripheral.respond(to: first, withResult: take(requests))
    }

    /// All of them or none.
    private func take(_ requests: [CBATTRequest]) -> CBATTError.Code {
        var written = tree
        for request in requests {
            guard var local = written[request.characteristic] else { return .unlikelyError }
            switch local.writing(Array(request.value ?? Data()), at: request.offset) {
            case .failure(let error): return error.code
            case .success(let value): local.value = value
            }
            written[request.characteristic] = local
        }
        tree = written
        return .success
    }

    // MARK: Links

    func peripheralManager(_ peripheral: CBPeripheralManager, centralDidConnect central: CBCentral, link: LinkInfo) {
        voice.event("centralConnected", ["central": meet(central), "link": .object(JSONObject(link))])
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, centralDidDisconnect central: CBCentral, link: LinkInfo,
        reason: HCIErrorCode
    ) {
        voice.event("centralDisconnected", ["central": meet(central), "reason": JSONValue(reason.rawValue)])
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didChangeSecurity link: LinkInfo, error: HostError?
    ) {
        voice.event(
            "centralSecurity",
            ["central": meet(central), "link": .object(JSONObject(link)), "error": JSONValue(error: error)])
    }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, displayPasskey passkey: UInt32, to central: CBCentral, link: LinkInfo
    ) { voice.event("passkey", ["central": meet(central), "passkey": JSONValue(passkey)]) }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, passkeyRequestedFor central: CBCentral, link: LinkInfo
    ) { voice.event("centralPasskeyRequested", ["central": meet(central)]) }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, compareNumericValue value: UInt32, with central: CBCentral, link: LinkInfo
    ) { voice.event("centralCompareNumbers", ["central": meet(central), "number": JSONValue(value)]) }

    func peripheralManager(
        _ peripheral: CBPeripheralManager, central: CBCentral, didPair result: Result<BondID, HostError>,
        link: LinkInfo
    ) {
        var told: JSONObject = ["central": meet(central), "link": .object(JSONObject(link))]
        switch result {
        case .success(let bond): told["bond"] = .string("\(bond)")
        case .failure(let error): told["error"] = JSONValue(error: error)
        }
        voice.event("centralPaired", told)
    }
}
