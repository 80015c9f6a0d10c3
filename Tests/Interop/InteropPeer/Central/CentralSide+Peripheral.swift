import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials
import SecurityManager

// What a peripheral's delegate hears.

extension CentralSide: CBPeripheralLinkDelegate {
    /// An attribute as a script sees it.
    func describe(_ service: CBService) -> JSONObject {
        [
            "attribute": .number(attributes.number(service)), "uuid": JSONValue(service.uuid),
            "primary": .bool(service.isPrimary),
        ]
    }

    private func describe(_ characteristic: CBCharacteristic) -> JSONObject {
        [
            "attribute": .number(attributes.number(characteristic)), "uuid": JSONValue(characteristic.uuid),
            "properties": characteristic.properties.json, "notifying": .bool(characteristic.isNotifying),
            "handle": characteristic.valueHandle.map { JSONValue($0) } ?? .null,
        ]
    }

    private func describe(_ descriptor: CBDescriptor) -> JSONObject {
        ["attribute": .number(attributes.number(descriptor)), "uuid": JSONValue(descriptor.uuid)]
    }

    private func tell(_ event: String, _ peripheral: CBPeripheral, _ fields: JSONObject, _ error: (any Error)?) {
        var all: JSONObject = ["peripheral": JSONValue(peripheral)]
        for member in fields.members { all[member.name] = member.value }
        all["error"] = JSONValue(error: error)
        voice.event(event, all)
    }

    // MARK: Discovery

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        let services = peripheral.services ?? []
        tell("services", peripheral, ["services": .array(services.map { .object(describe($0)) })], error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
    ) {
        var fields = describe(service)
        fields["services"] = .array((service.includedServices ?? []).map { .object(describe($0)) })
        tell("includedServices", peripheral, fields, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        var fields = describe(service)
        fields["characteristics"] = .array((service.characteristics ?? []).map { .object(describe($0)) })
        tell("characteristics", peripheral, fields, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        var fields = describe(characteristic)
        fields["descriptors"] = .array((characteristic.descriptors ?? []).map { .object(describe($0)) })
        tell("descriptors", peripheral, fields, error)
    }

    func peripheral(_ peripheral: CBPeripheral, didModifyServices invalidatedServices: [CBService]) {
        tell(
            "modifiedServices", peripheral, ["services": .array(invalidatedServices.map { .object(describe($0)) })], nil
        )
    }

    // MARK: Channels

    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: (any Error)?) {
        channels.opened(channel, error)
    }

    // MARK: Values

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        var fields = describe(characteristic)
        fields["value"] = JSONValue(optional: characteristic.value)
        tell("value", peripheral, fields, error)
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor descriptor: CBDescriptor, error: (any Error)?) {
        var fields = describe(descriptor)
        switch descriptor.content {
        case let text as String: fields["text"] = .string(text)
        case let number as UInt16: fields["number"] = JSONValue(number)
        default: fields["value"] = JSONValue(optional: descriptor.content as? Data)
        }
        tell("descriptorValue", peripheral, fields, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) { tell("written", peripheral, describe(characteristic), error) }

    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: (any Error)?) {
        tell("descriptorWritten", peripheral, describe(descriptor), error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) { tell("notificationState", peripheral, describe(characteristic), error) }

    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
        tell("readyToWrite", peripheral, [:], nil)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didSignValueFor characteristic: CBCharacteristic, counter: UInt32?,
        error: (any Error)?
    ) {
        var fields = describe(characteristic)
        fields["counter"] = counter.map { JSONValue($0) } ?? .null
        tell("signed", peripheral, fields, error)
    }

    // MARK: The link

    func peripheralDidUpdateName(_ peripheral: CBPeripheral) {
        tell("name", peripheral, ["name": peripheral.name.map { .string($0) } ?? .null], nil)
    }

    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: Int, error: (any Error)?) {
        tell("rssi", peripheral, ["rssi": JSONValue(RSSI)], error)
    }

    func peripheral(_ peripheral: CBPeripheral, didChangeSecurity link: LinkInfo, error: HostError?) {
        tell("security", peripheral, ["link": .object(JSONObject(link))], error)
    }

    func peripheralDidRequestPasskey(_ peripheral: CBPeripheral) { tell("passkeyRequested", peripheral, [:], nil) }

    func peripheral(_ peripheral: CBPeripheral, displayPasskey passkey: UInt32) {
        tell("displayPasskey", peripheral, ["passkey": JSONValue(passkey)], nil)
    }

    func peripheral(_ peripheral: CBPeripheral, compareNumericValue value: UInt32) {
        tell("compareNumbers", peripheral, ["number": JSONValue(value)], nil)
    }

    func peripheral(_ peripheral: CBPeripheral, didPair result: Result<BondID, HostError>) {
        switch result {
        case .success(let bond): tell("paired", peripheral, ["bond": .string("\(bond)")], nil)
        case .failure(let error): tell("paired", peripheral, ["bond": .null], error)
        }
    }
}
