import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials
import GATT

// A service as a script describes it:
//     {"uuid": "FFF0", "name": "…", "secondary": false, "includes": ["…"], "characteristics": [{"uuid": "FFF1",
//      "name": "…", "properties": ["read"], "permissions": ["readable"], "access": {"read": "encrypted"},
//      "constant": "00", "value": "00", "maximum": 512, "answers": "store", "keepsUpdates": true,
//      "descriptors": [{"uuid": "2901", "text": "…"}, {"uuid": "2904", "value": "00"}]}]}
// `constant` is a value that the host answers with; without it the app is asked, and has `value` to begin with.

extension LocalTree {
    mutating func add(_ script: Arguments) throws(Refusal) -> CBMutableService {
        let uuid = CBUUID(try script.uuid("uuid"))
        let service = CBMutableService(type: uuid, primary: try !script.flag("secondary"))
        var included: [CBService] = []
        for name in try script.texts("includes") { included.append(try self.service(name)) }
        if !included.isEmpty { service.includedServices = included }
        var members: [LocalCharacteristic] = []
        for member in try script.objects("characteristics") { members.append(try LocalCharacteristic(member)) }
        service.characteristics = members.map(\.characteristic)
        add(service, named: try script.optionalText("name") ?? uuid.uuidString, members)
        return service
    }
}

extension LocalCharacteristic {
    init(_ script: Arguments) throws(Refusal) {
        let uuid = CBUUID(try script.uuid("uuid"))
        let constant = try script.optionalOctets("constant")
        let characteristic = CBMutableCharacteristic(
            type: uuid, properties: try CBCharacteristicProperties(named: script.texts("properties")),
            value: constant.map { Data($0) },
            permissions: try CBAttributePermissions(named: script.texts("permissions")))
        if let access = try script.optionalObject("access") { characteristic.access = try AttributeAccess(access) }
        if script["keepsUpdates"]?.bool == false { characteristic.keepsUpdatesForAbsentCentrals = false }
        var descriptors: [CBMutableDescriptor] = []
        for descriptor in try script.objects("descriptors") {
            let type = CBUUID(try descriptor.uuid("uuid"))
            if let text = try descriptor.optionalText("text") {
                descriptors.append(CBMutableDescriptor(type: type, value: text))
            } else {
                descriptors.append(CBMutableDescriptor(type: type, value: Data(try descriptor.octets("value"))))
            }
        }
        if !descriptors.isEmpty { characteristic.descriptors = descriptors }
        self.init(name: try script.optionalText("name") ?? uuid.uuidString, characteristic: characteristic)
        value = try script.optionalOctets("value") ?? []
        maximumOctets = try script.optionalNumber("maximum").map { Int($0) } ?? maximumOctets
        answers = try Answers(script)
    }
}

extension LocalCharacteristic.Answers {
    init(_ script: Arguments) throws(Refusal) {
        switch try script.optionalText("answers") {
        case nil, "store": self = .store
        case "script": self = .script
        case let other?: throw Refusal("`answers` is store or script, not \(other)")
        }
    }
}

extension AttributeAccess {
    fileprivate init(_ script: Arguments) throws(Refusal) {
        func requirement(_ path: String) throws(Refusal) -> AttributeRequirement {
            guard let name = try script.optionalText(path) else { return .forbidden }
            guard let requirement = AttributeRequirement(named: name) else {
                throw Refusal("`\(name)` is not one of \(AttributeRequirement.allCases)")
            }
            return requirement
        }
        self.init(
            read: try requirement("read"), writeRequest: try requirement("writeRequest"),
            writeCommand: try requirement("writeCommand"), signedWrite: try script.flag("signedWrite"),
            subscribe: try requirement("subscribe"),
            minimumKeySize: try script.optionalNumber("minimumKeySize").map { UInt8(clamping: $0) } ?? 7,
            requiresAuthorization: try script.flag("requiresAuthorization"))
    }
}
