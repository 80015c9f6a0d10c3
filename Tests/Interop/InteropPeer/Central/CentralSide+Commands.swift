import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials

// Calls of the API. Each is answered at once; what comes of it are events.

extension CentralSide {
    var managerCommands: [String: Command] {
        [
            "scan": { [unowned self] (arguments, reply) throws(Refusal) in
                manager?.scanForPeripherals(
                    withServices: try arguments.optionalUUIDs("services"),
                    options: [CBCentralManagerScanOptionAllowDuplicatesKey: try arguments.flag("duplicates")])
                reply.done()
            },
            "stopScan": { [unowned self] (_, reply) throws(Refusal) in
                manager?.stopScan()
                reply.done()
            },
            "retrieve": { [unowned self] (arguments, reply) throws(Refusal) in
                let peripheral = try peripheral(arguments)
                reply.done([
                    "peripheral": JSONValue(peripheral), "state": .string("\(peripheral.state)"),
                    "name": peripheral.name.map { .string($0) } ?? .null,
                ])
            },
            "connect": { [unowned self] (arguments, reply) throws(Refusal) in
                let peripheral = try peripheral(arguments)
                manager?.connect(peripheral)
                reply.done(["peripheral": JSONValue(peripheral)])
            },
            "cancelConnection": { [unowned self] (arguments, reply) throws(Refusal) in
                manager?.cancelPeripheralConnection(try peripheral(arguments))
                reply.done()
            },
        ]
    }

    var discoveryCommands: [String: Command] {
        [
            "discoverServices": { [unowned self] (arguments, reply) throws(Refusal) in
                try peripheral(arguments).discoverServices(try arguments.optionalUUIDs("uuids"))
                reply.done()
            },
            "discoverIncludedServices": { [unowned self] (arguments, reply) throws(Refusal) in
                try peripheral(arguments).discoverIncludedServices(
                    try arguments.optionalUUIDs("uuids"), for: try attributes.attribute(arguments))
                reply.done()
            },
            "discoverCharacteristics": { [unowned self] (arguments, reply) throws(Refusal) in
                try peripheral(arguments).discoverCharacteristics(
                    try arguments.optionalUUIDs("uuids"), for: try attributes.attribute(arguments))
                reply.done()
            },
            "discoverDescriptors": { [unowned self] (arguments, reply) throws(Refusal) in
                try peripheral(arguments).discoverDescriptors(for: try attributes.attribute(arguments))
                reply.done()
            },
        ]
    }

    var valueCommands: [String: Command] {
        [
            "read": { [unowned self] (arguments, reply) throws(Refusal) in
                let peripheral = try peripheral(arguments)
                switch try attributes.attribute(arguments, as: CBAttribute.self) {
                case let characteristic as CBCharacteristic: peripheral.readValue(for: characteristic)
                case let descriptor as CBDescriptor: peripheral.readValue(for: descriptor)
                default: throw Refusal("a service has no value")
                }
                reply.done()
            },
            "write": { [unowned self] (arguments, reply) throws(Refusal) in
                let peripheral = try peripheral(arguments)
                let value = Data(try arguments.octets("value"))
                switch try attributes.attribute(arguments, as: CBAttribute.self) {
                case let characteristic as CBCharacteristic:
                    let type: CBCharacteristicWriteType =
                        try arguments.flag("withoutResponse") ? .withoutResponse : .withResponse
                    peripheral.writeValue(value, for: characteristic, type: type)
                case let descriptor as CBDescriptor: peripheral.writeValue(value, for: descriptor)
                default: throw Refusal("a service has no value")
                }
                reply.done()
            },
            "signedWrite": { [unowned self] (arguments, reply) throws(Refusal) in
                try peripheral(arguments).writeSignedValue(
                    Data(try arguments.octets("value")), for: try attributes.attribute(arguments))
                reply.done()
            },
            "setNotify": { [unowned self] (arguments, reply) throws(Refusal) in
                try peripheral(arguments).setNotifyValue(
                    try arguments.flag("enabled"), for: try attributes.attribute(arguments))
                reply.done()
            },
        ]
    }

    var linkCommands: [String: Command] {
        [
            "readRSSI": { [unowned self] (arguments, reply) throws(Refusal) in
                try peripheral(arguments).readRSSI()
                reply.done()
            },
            "maximumWriteLength": { [unowned self] (arguments, reply) throws(Refusal) in
                let peripheral = try peripheral(arguments)
                reply.done([
                    "withResponse": JSONValue(peripheral.maximumWriteValueLength(for: .withResponse)),
                    "withoutResponse": JSONValue(peripheral.maximumWriteValueLength(for: .withoutResponse)),
                    "canSendWithoutResponse": .bool(peripheral.canSendWriteWithoutResponse),
                ])
            },
            "openChannel": { [unowned self] (arguments, reply) throws(Refusal) in
                try peripheral(arguments).openL2CAPChannel(
                    CBL2CAPPSM(truncatingIfNeeded: try arguments.number("psm")))
                reply.done()
            },
            "encrypt": { [unowned self] (arguments, reply) throws(Refusal) in
                try peripheral(arguments).encrypt()
                reply.done()
            },
            "pair": { [unowned self] (arguments, reply) throws(Refusal) in
                let peripheral = try peripheral(arguments)
                if arguments["method"] == nil {
                    peripheral.pair()
                } else {
                    peripheral.pair(
                        try PairingMethods.request(arguments), credential: try arguments.text("credential"))
                }
                reply.done()
            },
            "enterPasskey": { [unowned self] (arguments, reply) throws(Refusal) in
                let passkey = try arguments.optionalNumber("passkey").map { UInt32(truncatingIfNeeded: $0) }
                try peripheral(arguments).enterPasskey(passkey)
                reply.done()
            },
        ]
    }
}
