import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials

extension PeripheralSide {
    var publishingCommands: [String: Command] {
        [
            "addService": { [unowned self] (arguments, reply) throws(Refusal) in
                guard let script = try arguments.optionalObject("service") else {
                    throw Refusal("`service` is missing")
                }
                manager?.add(try tree.add(script))
                reply.done()
            },
            "removeService": { [unowned self] (arguments, reply) throws(Refusal) in
                manager?.remove(try tree.remove(try arguments.text("service")))
                reply.done()
            },
            "removeAllServices": { [unowned self] (_, reply) throws(Refusal) in
                for name in tree.services.keys { _ = try tree.remove(name) }
                manager?.removeAllServices()
                reply.done()
            },
            "publishChannel": { [unowned self] (arguments, reply) throws(Refusal) in
                manager?.publishL2CAPChannel(withEncryption: try arguments.flag("encrypted"))
                reply.done()
            },
            "unpublishChannel": { [unowned self] (arguments, reply) throws(Refusal) in
                manager?.unpublishL2CAPChannel(CBL2CAPPSM(truncatingIfNeeded: try arguments.number("psm")))
                reply.done()
            },
            "advertise": { [unowned self] (arguments, reply) throws(Refusal) in
                var data: [String: Any] = [:]
                if let name = try arguments.optionalText("name") { data[CBAdvertisementDataLocalNameKey] = name }
                if let services = try arguments.optionalUUIDs("services") {
                    data[CBAdvertisementDataServiceUUIDsKey] = services
                }
                manager?.startAdvertising(data)
                reply.done()
            },
            "stopAdvertising": { [unowned self] (_, reply) throws(Refusal) in
                manager?.stopAdvertising()
                reply.done()
            },
        ]
    }

    var valueCommands: [String: Command] {
        [
            "setValue": { [unowned self] (arguments, reply) throws(Refusal) in
                var local = try tree.characteristic(try arguments.text("characteristic"))
                local.value = try arguments.octets("value")
                tree[local.characteristic] = local
                reply.done()
            },
            "getValue": { [unowned self] (arguments, reply) throws(Refusal) in
                let local = try tree.characteristic(try arguments.text("characteristic"))
                reply.done(["value": JSONValue(local.value)])
            },
            "setAnswers": { [unowned self] (arguments, reply) throws(Refusal) in
                var local = try tree.characteristic(try arguments.text("characteristic"))
                local.answers = try LocalCharacteristic.Answers(arguments)
                tree[local.characteristic] = local
                reply.done()
            },
            // `value` answers a read, `error` refuses, neither takes what is written.
            "respond": { [unowned self] (arguments, reply) throws(Refusal) in
                let requests = try takeRequests(try arguments.number("request"))
                guard let first = requests.first else { return reply.done() }
                if let value = try arguments.optionalOctets("value") { first.value = Data(value) }
                let error = try arguments.optionalNumber("error") ?? 0
                manager?.respond(to: first, withResult: CBATTError.Code(number: Int(error)))
                reply.done()
            },
            "update": { [unowned self] (arguments, reply) throws(Refusal) in
                let local = try tree.characteristic(try arguments.text("characteristic"))
                var chosen: [CBCentral] = []
                for central in try arguments.texts("centrals") { chosen.append(try self.central(central)) }
                let isSent = manager?.updateValue(
                    Data(try arguments.octets("value")), for: local.characteristic,
                    onSubscribedCentrals: chosen.isEmpty ? nil : chosen)
                reply.done(["sent": .bool(isSent ?? false)])
            },
            "subscribers": { [unowned self] (arguments, reply) throws(Refusal) in
                let local = try tree.characteristic(try arguments.text("characteristic"))
                let centrals = local.characteristic.subscribedCentrals ?? []
                reply.done(["centrals": .array(centrals.map { meet($0) })])
            },
        ]
    }

    var linkCommands: [String: Command] {
        [
            "disconnect": { [unowned self] (arguments, reply) throws(Refusal) in
                manager?.disconnect(try central(try arguments.text("central")))
                reply.done()
            },
            "setDesiredLatency": { [unowned self] (arguments, reply) throws(Refusal) in
                let number = Int(truncatingIfNeeded: try arguments.number("latency"))
                guard let latency = CBPeripheralManagerConnectionLatency(rawValue: number) else {
                    throw Refusal("`latency` is 0, 1 or 2")
                }
                manager?.setDesiredConnectionLatency(latency, for: try central(try arguments.text("central")))
                reply.done()
            },
            "central": { [unowned self] (arguments, reply) throws(Refusal) in
                let central = try central(try arguments.text("central"))
                reply.done([
                    "maximumUpdateLength": JSONValue(central.maximumUpdateValueLength),
                    "link": central.link.map { .object(JSONObject($0)) } ?? .null,
                ])
            },
            // Without `method` the window closes.
            "setPairingWindow": { [unowned self] (arguments, reply) throws(Refusal) in
                let (window, offer) = try PairingMethods.window(arguments, host)
                manager?.setPairingWindow(window)
                reply.done(offer)
            },
        ]
    }
}
